/** Programs in the workspace: what they are given, what is kept from them, and that nothing of them stays. */

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { toolContext } from "../../../test/support/tool-samples.ts";
import { FileRefused } from "../../files/safe-path.ts";
import { WorkspaceFiles } from "../../files/workspace-files.ts";
import { runTool, ToolTimeout } from "../attempt.ts";
import { type CommandOptions, commandTool } from "./command.ts";
import type { Ended } from "./restricted-process.ts";

/** Some systems, and most containers, do not let users have namespaces of their own, or give them no power there. */
const hasNamespaces =
  spawnSync("/usr/bin/unshare", [
    ..."--map-current-user --mount --keep-caps --pid --fork --net -- sh -c".split(" "),
    "mount -t tmpfs tmpfs /tmp && setpriv --bounding-set=-all true",
  ]).status === 0;
const withoutNamespaces = hasNamespaces ? "this system has namespaces" : false;
const withNamespaces = hasNamespaces ? false : "this system has no namespaces for users";

const open = { isolation: "process", network: true } as const;
const programs = ["cat", "echo", "env", "head", "pwd", "sh", "sleep", "true", "absent-program"];

async function workspace(options: Partial<CommandOptions> = open) {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "bridle-command-test-")));
  // As a server has it: the workspaces are inside of its own data.
  const data = { directory: join(directory, "workspaces"), guarded: directory };
  const context = toolContext({ files: new WorkspaceFiles(data) });
  const { tenantId, id } = await context.place();
  const root = join(data.directory, tenantId, id);
  await mkdir(join(root, "sub"), { recursive: true });
  await writeFile(join(root, "file.txt"), "text");
  await writeFile(join(directory, "admin.key"), "key");
  const tool = commandTool({ programs, timeoutMs: 60_000, ...options });
  return {
    root,
    data: directory,
    run: async (
      program: string,
      args: string[] = [],
      { cwd, ...given }: { cwd?: string; signal?: AbortSignal; timeoutMs?: number } = {},
    ) => {
      const { timeoutMs, ...more } = given;
      const input = { program, args, ...(cwd === undefined ? {} : { cwd }) };
      const limit = timeoutMs === undefined ? {} : { timeoutMs };
      // As the tool's schema says, which is made for the programs at hand and so has no type that says it.
      return (await runTool(tool, input, { ...context, ...more }, limit)) as Ended;
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  };
}

/** Programs that would run for a long time, by a number that nobody else has. */
function running(mark: string): number {
  return execFileSync("ps", ["-A", "-o", "args="], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(mark) && !line.includes("sh -c")).length;
}

async function untilRunning(mark: string, count: number): Promise<void> {
  const patience = AbortSignal.timeout(30_000);
  while (running(mark) !== count) await delay(20, undefined, { signal: patience });
}

describe("command.run", () => {
  test("TOL-6 passes arguments literally, without a shell, in the workspace and with no input", async () => {
    // Given arguments that a shell would read, when a program is run, then it gets them letter for letter, in the
    // workspace, with no input.
    await using space = await workspace();
    const odd = ["$(id)", "; ls", "*", "a b", "`id`", "$HOME", "-n", '"', "'", "\n"];
    const { exit_code, stdout } = await space.run("sh", ["-c", 'for a; do echo "[$a]"; done', "sh", ...odd]);
    assert.deepEqual([exit_code, stdout], [0, `${odd.map((arg) => `[${arg}]`).join("\n")}\n`]);
    assert.equal((await space.run("pwd", ["-P"])).stdout, `${space.root}\n`);
    assert.equal((await space.run("pwd", ["-P"], { cwd: "sub" })).stdout, `${space.root}/sub\n`);
    assert.deepEqual(
      [(await space.run("cat")).exit_code, (await space.run("cat", ["file.txt"])).stdout],
      [0, "text"],
    );
    const failed = await space.run("sh", ["-c", "echo no >&2; exit 3"]);
    assert.deepEqual([failed.exit_code, failed.stdout, failed.stderr], [3, "", "no\n"]);
    assert.equal((await space.run("sh", ["-c", "kill -TERM $$"])).exit_code, 128 + 15);
  });

  test("TOL-6 a program gets none of the server's environment and a temporary empty home", async () => {
    // Given the server's environment, when a program is run, then it has none of it, and an empty home that is gone
    // afterwards.
    process.env.COMMAND_TEST_SECRET = "kept";
    await using space = await workspace({ ...open, env: { EXTRA: "given" } });
    const { stdout } = await space.run("env");
    const names = stdout.split("\n").map((line) => line.split("=")[0] ?? "");
    // A shell adds some of its own.
    const own = names.filter((name) => !["", "PWD", "OLDPWD", "SHLVL", "_"].includes(name));
    assert.deepEqual(own.sort(), ["EXTRA", "HOME", "LANG", "PATH", "TMPDIR"]);
    assert.match(stdout, /^PATH=\/usr\/local\/bin:\/usr\/bin:\/bin$/m);
    const home = (
      await space.run("sh", ["-c", 'echo "$HOME"; ls -A "$HOME"; touch "$HOME/x"'])
    ).stdout.trim();
    assert.match(home, /\/bridle-command-[^/]+\/home$/);
    await assert.rejects(readdir(home), { code: "ENOENT" });
    assert.equal(
      (await space.run("sh", ["-c", "echo >&3"])).exit_code !== 0,
      true,
      "no other stream is open",
    );
  });

  test("TOL-6 does not run in a folder that is outside, behind a link or missing", async () => {
    // Given a folder that is outside, behind a link or none, when a program is to run there, then it does not run.
    await using space = await workspace();
    await symlink("/", join(space.root, "out"));
    await symlink(join(space.root, "sub"), join(space.root, "in"));
    for (const cwd of ["..", "/", "out", "out/etc", "file.txt", "none"])
      await assert.rejects(space.run("true", [], { cwd }), FileRefused, cwd);
    assert.equal((await space.run("pwd", ["-P"], { cwd: "in" })).stdout, `${space.root}/sub\n`);
  });

  test("TOL-6 truncates long output, says so, and limits the size of written files", async () => {
    // Given a program that says much, or writes much, when it is run, then its output is cut and said to be, and the
    // file is bounded.
    await using space = await workspace({ ...open, fileBytesMax: 4096 });
    const { stdout, stdout_truncated, stderr_truncated } = await space.run("head", [
      "-c",
      "1000000",
      "/dev/zero",
    ]);
    assert.deepEqual([stdout.length, stdout_truncated, stderr_truncated], [64 * 1024, true, false]);
    const written = await space.run("sh", ["-c", "head -c 100000 /dev/zero > big; wc -c < big"]);
    assert.ok(Number(written.stdout) <= 8192, written.stdout);
  });

  test("TOL-6 rejects a program that is not listed, not a bare name or not installed", async () => {
    // Given programs, when one is not on the list, not a bare name or not there, then it is refused.
    await using space = await workspace();
    for (const program of ["id", "/bin/sh", "../bin/sh", ""])
      await assert.rejects(space.run(program), { code: "tool_input_invalid" }, program);
    await assert.rejects(space.run("echo", ["a\0b"]), { code: "tool_input_invalid" });
    await assert.rejects(space.run("absent-program"), { code: "command_refused", message: /not installed/ });
    for (const wrong of [
      { programs: [] },
      { programs: ["/bin/sh"] },
      { programs: ["a b"] },
      { programs: ["true"], path: ["bin"] },
      { programs: ["true"], path: [] },
      { programs: ["true"], isolation: "process" as const },
      { programs: ["true"], hidden: ["secrets"] },
      { programs: ["true"], hidden: ["/srv"], ...open },
      { programs: ["true"], outputBytesMax: 0 },
      { programs: ["true"], timeoutMs: 0 },
    ])
      assert.throws(() => commandTool(wrong), TypeError, JSON.stringify(wrong));
  });

  test("TOL-6 the command tool is opt-in, irreversible and dangerous", () => {
    // Given a tool that runs programs, when its terms are read, then it is off by itself, irreversible and dangerous.
    const { name, effect, risk, isOptIn } = commandTool({ programs: ["true"] });
    assert.deepEqual([name, effect, risk, isOptIn], ["command.run", "irreversible", "dangerous", true]);
  });

  test("TOL-6 a timeout or cancellation kills the program and all its children", async () => {
    // Given a program that started others, when its time is over or the task is canceled, then all of them are ended.
    await using space = await workspace();
    const mark = String(randomInt(10 ** 9, 2 ** 40));
    const args = ["-c", `sleep ${mark} & sleep ${mark} & wait`];
    await assert.rejects(space.run("sh", args, { timeoutMs: 300 }), ToolTimeout);
    await untilRunning(mark, 0);
    const canceled = new AbortController();
    const running = assert.rejects(space.run("sh", args, { signal: canceled.signal }), /canceled/);
    await untilRunning(mark, 2);
    canceled.abort(new Error("canceled"));
    await running;
    await untilRunning(mark, 0);
  });

  test("TOL-6 kills the processes a program leaves behind and does not wait for them", async () => {
    // Given a program that leaves others behind, when it ends, then they are ended, and it is not waited for them.
    await using space = await workspace();
    const mark = String(randomInt(10 ** 9, 2 ** 40));
    const { stdout } = await space.run("sh", ["-c", `sleep ${mark} & echo started`]);
    assert.equal(stdout, "started\n");
    await untilRunning(mark, 0);
  });

  test("TOL-6 with namespaces, canceling also kills a program that left its process group", {
    skip: withNamespaces,
  }, async () => {
    // Given a system with namespaces, when a program leaves its group and is canceled, then it is ended all the same.
    await using space = await workspace({});
    const mark = String(randomInt(10 ** 9, 2 ** 40));
    const canceled = new AbortController();
    const args = ["-c", `setsid sleep ${mark} & sleep ${mark}`];
    const running = assert.rejects(space.run("sh", args, { signal: canceled.signal }), /canceled/);
    await untilRunning(mark, 2);
    canceled.abort(new Error("canceled"));
    await running;
    await untilRunning(mark, 0);
    const { stdout } = await space.run("sh", ["-c", `setsid sleep ${mark} & echo started`]);
    assert.equal(stdout, "started\n");
    await untilRunning(mark, 0);
  });

  test("TOL-6 with namespaces, a program sees no network, server processes or environment", {
    skip: withNamespaces,
  }, async () => {
    // Given a system with namespaces, when a program looks for the network, the server's processes or its environment,
    // then it finds none.
    await using space = await workspace({
      programs: ["sh", basename(process.execPath)],
      path: [dirname(process.execPath), "/usr/bin", "/bin"],
    });
    const server = createServer((_, response) => response.end("reached"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const script = `fetch("http://127.0.0.1:${port}/").then((a) => a.text()).then(console.log, (e) => console.log(e.cause?.code))`;
    const ask = (at: typeof space) => at.run(basename(process.execPath), ["-e", script]);
    assert.match((await ask(space)).stdout, /ENETUNREACH|ECONNREFUSED|EADDRNOTAVAIL/);
    await using reaching = await workspace({
      programs: [basename(process.execPath)],
      path: [dirname(process.execPath)],
      network: true,
    });
    assert.equal((await ask(reaching)).stdout, "reached\n");
    server.close();
    const look = await space.run("sh", [
      "-c",
      `kill -0 ${process.pid} && echo seen; cat /proc/${process.pid}/environ`,
    ]);
    assert.deepEqual([look.exit_code !== 0, look.stdout], [true, ""], look.stderr);
  });

  test("TOL-6 with namespaces, even nested ones, a program sees only its workspace", {
    skip: withNamespaces,
  }, async () => {
    // Given a system with namespaces, when a program looks for the server's data or what else is hidden, then only its
    // workspace is there, also with namespaces of its own.
    const secrets = await realpath(await mkdtemp(join(tmpdir(), "bridle-command-secrets-")));
    await writeFile(join(secrets, "token"), "token");
    await using space = await workspace({ hidden: [secrets] });
    const look = `pwd; cat ../file.txt; echo new > new.txt; ls ${secrets}; ls ${space.data}; cat ${space.data}/admin.key`;
    const { stdout, stderr } = await space.run("sh", ["-c", look], { cwd: "sub" });
    assert.equal(stdout, `${space.root}/sub\ntextworkspaces\n`);
    assert.match(stderr, /admin\.key/);
    assert.deepEqual(await readdir(join(space.root, "sub")), ["new.txt"]);
    const undo = `umount -l ${space.data}; unshare -rm sh -c 'umount -l ${space.root}; umount -l ${space.data}'; cat ${space.data}/admin.key; grep CapBnd /proc/self/status`;
    assert.equal((await space.run("sh", ["-c", undo])).stdout, "CapBnd:\t0000000000000000\n");
    assert.deepEqual((await readdir(space.data)).sort(), ["admin.key", "workspaces"]);
    assert.deepEqual(await readdir(secrets), ["token"]);
    await rm(secrets, { recursive: true });
  });

  test("TOL-6 without namespaces, a program that needs them does not run, and the error says why", {
    skip: withoutNamespaces,
  }, async () => {
    // Given a system without namespaces, when a program is to have them, then it is not run, and told why.
    await using space = await workspace({});
    await assert.rejects(space.run("sh", ["-c", "echo ran > ran.txt"]), {
      code: "command_refused",
      message: /not run/,
    });
    assert.deepEqual((await readdir(space.root)).sort(), ["file.txt", "sub"]);
  });
});
