/** Hooks and guards with real processes in the place of the tools, and standing permissions that an approver signed. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { useStanding } from "../../src/cli/gate/standing.ts";
import { Remote } from "../../src/cli/remote.ts";
import { run } from "../support/cli.ts";
import type { Json } from "../support/client.ts";
import { environment } from "../support/server.ts";
import { GateStage } from "./gate-stage.ts";

let world: GateStage;
before(async () => {
  world = await GateStage.open();
  await world.policy(`version: 1
rules:
  - { name: reads, match: { tool: read }, action: allow }
  - { name: status, match: { argv: [git, status] }, action: allow }
  - { name: pushes, match: { argv: [git, push] }, action: ask }
  - { name: force, match: { argv: [git, push, --force] }, action: deny }
`);
});
after(() => world[Symbol.asyncDispose]());

function asked(tool_name: string, tool_input: object, session_id = "s1"): string {
  return JSON.stringify({
    session_id,
    cwd: world.project,
    hook_event_name: "PreToolUse",
    tool_name,
    tool_input,
  });
}
const bash = (command: string, session?: string) => asked("Bash", { command }, session);
const hook = (input: string, env = {}) => world.gate(["hook", "claude-code"], { input, env });
const isYes = ({ code, stdout }: { code: number | null; stdout: string }) =>
  code === 0 && JSON.parse(stdout).hookSpecificOutput.permissionDecision === "allow";

test("GAT-9 a hook allows, asks and denies by the policy, and everything is in the log", async () => {
  assert.ok(isYes(await hook(bash("git status"))));
  const signed = await world.decided(hook(bash("git push origin main")), "git push origin main", "approve");
  assert.ok(isYes(signed), signed.stderr);
  const refused = await world.decided(hook(bash("git push origin secret")), "git push origin secret", "deny");
  assert.deepEqual([refused.code, refused.stdout], [2, ""]);
  const denied = await hook(bash("git push -f"));
  assert.deepEqual([denied.code, /policy denies it/.test(denied.stderr)], [2, true], denied.stderr);
  const records = (await world.gate(["log", "--json", "--limit", "4"])).stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    records.map(({ verdict, by }) => [verdict, by]),
    [
      ["denied", "policy"],
      ["denied", "approver"],
      ["approved", "approver"],
      ["approved", "policy"],
    ],
  );
  assert.ok(records.every(({ receipt_id }) => receipt_id !== null));
});

test("GAT-9 a hook that cannot read, reach or decide says no", async () => {
  const cases: [string, Json][] = [
    ["not json", {}],
    ["[]", {}],
    ["{}", {}],
    ["", {}],
    [bash("git status"), { BRIDLE_URL: "http://127.0.0.1:9" }],
    [bash("git status"), { BRIDLE_KEY: "wrong" }],
  ];
  for (const [input, env] of cases) {
    const { code, stdout, stderr } = await hook(input, env);
    assert.deepEqual([code, stdout], [2, ""], input);
    assert.match(stderr, /^bridle gate: not allowed\. ./, input);
  }
});

test("GAT-10 an installed hook is what a tool runs, and blocks when bridle is gone", async () => {
  const file = join(world.project, ".claude", "settings.json");
  mkdirSync(join(world.project, ".claude"), { recursive: true });
  const own = { model: "x", hooks: { Stop: [{ hooks: [{ type: "command", command: "true" }] }] } };
  writeFileSync(file, JSON.stringify(own));
  for (let twice = 0; twice < 2; twice++)
    assert.equal((await world.gate(["install", "claude-code"])).code, 0);
  const settings = JSON.parse(readFileSync(file, "utf8"));
  assert.equal(settings.hooks.PreToolUse.length, 1);
  const [{ command }] = settings.hooks.PreToolUse[0].hooks;
  // As the tool does it: through a shell, with its input.
  const env = { ...environment, ...world.env };
  const yes = await run("/bin/sh", ["-c", command], { cwd: world.project, env, input: bash("git status") });
  assert.ok(isYes(yes), yes.stderr);
  const gone = spawnSync("/bin/sh", ["-c", command.replace(/\S*main\.\S+|\S*bridle\.js/, "/nowhere.js")], {
    env,
    input: bash("git status"),
  });
  assert.equal(gone.status, 2);
  assert.equal((await world.gate(["uninstall", "claude-code"])).code, 0);
  assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), own);
  for (const name of ["cursor", "copilot", "windsurf", "gemini-cli"]) {
    const { file: other } = JSON.parse((await world.gate(["install", name, "--json"])).stdout);
    assert.ok(readFileSync(other, "utf8").includes(`gate hook ${name} || exit 2`));
    await world.gate(["uninstall", name]);
    assert.equal(existsSync(other), false, "it was ours alone");
  }
});

test("GAT-8 a standing permission covers exactly its words until it is used up or revoked", async () => {
  const args = ["permit", "--uses", "2", "--for", "1h", "--json", "--", "git", "push", "origin"];
  const asking = world.gate(args);
  await world.approveOffered("2 times until");
  const permitted = await asking;
  assert.equal(permitted.code, 0, permitted.stderr);
  const { task_id } = JSON.parse(permitted.stdout);
  const uncovered = [
    "git push upstream",
    "git push origin; ls",
    "X=1 git push origin",
    "git push origin > x",
  ];
  for (const line of uncovered) {
    const { code } = await world.decided(hook(bash(line)), line.slice(0, 18), "deny");
    assert.equal(code, 2, line);
  }
  const used = await hook(bash("git 'push' origin main"));
  assert.ok(isYes(used), used.stderr);
  assert.match(used.stdout, new RegExp(task_id));
  const remote = new Remote({ url: world.stage.server.url, key: world.key, data: "/none" });
  const subject = { tool: "Bash", kind: "shell", line: "git push origin" };
  // Right behind a use, and three at once: the last one is taken once.
  const atOnce = await Promise.all([1, 2, 3].map(() => useStanding(remote, subject, world.project, null)));
  assert.deepEqual(
    atOnce.filter((taken) => taken !== null),
    [task_id],
  );
  const third = await world.decided(hook(bash("git push origin third")), "origin third", "deny");
  assert.equal(third.code, 2, "it is used up");
  // Denied by the policy stays denied.
  const again = world.gate(args);
  await world.approveOffered("2 times until");
  const granted = await again;
  assert.equal(granted.code, 0, granted.stderr);
  const renewed = JSON.parse(granted.stdout).task_id;
  assert.equal((await hook(bash("git push origin --force"))).code, 2);
  assert.equal((await world.gate(["revoke", renewed])).code, 0);
  const revoked = await world.decided(hook(bash("git push origin fourth")), "origin fourth", "deny");
  assert.equal(revoked.code, 2);
});

test("GAT-8 who signs for one use permits one, and a revoked key permits nothing", async () => {
  const asking = world.gate(["permit", "--uses", "5", "--json", "--", "git", "push", "once"]);
  await world.ann.decide("5 times until", "approve");
  assert.equal((await asking).code, 0);
  assert.ok(isYes(await hook(bash("git push once"))));
  const second = await world.decided(hook(bash("git push once more")), "once more", "deny");
  assert.equal(second.code, 2);
});

test("GAT-11 a shell's guard stops what the policy is about, and nothing else", async () => {
  const guard = (line: string) => world.gate(["guard", "--line", line]);
  assert.equal((await guard("ls -la")).code, 0);
  assert.equal((await guard("git push --force")).code, 10);
  const denied = await world.decided(guard("git push mine"), "push mine", "deny");
  assert.equal(denied.code, 10);
  for (const shell of ["bash", "zsh"]) {
    const { stdout } = await world.gate(["shell-init", shell]);
    assert.match(stdout, /gate guard --line/);
  }
  // In a real bash, with a guard that says no: the command is not run.
  const init = (await world.gate(["shell-init", "bash"])).stdout.replaceAll(
    /command \S+( \S+)? gate guard/g,
    "command no_such_program gate guard",
  );
  const { stdout } = spawnSync("bash", ["--norc", "-i"], {
    input: `${init}\necho ran-anyway\n`,
    encoding: "utf8",
    env: { PATH: process.env.PATH },
  });
  assert.ok(!stdout.includes("\nran-anyway") && !stdout.startsWith("ran-anyway"), stdout);
});
