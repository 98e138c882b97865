/** Hooks and guards with real processes in the place of the tools, and standing permissions that an approver signed. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { useStanding } from "../../src/cli/gate/standing.ts";
import { Remote } from "../../src/cli/remote.ts";
import { adapterNames } from "../../src/gate/hooks/adapters.ts";
import { run, runNode, succeeded } from "../support/cli.ts";
import type { Json } from "../support/client.ts";
import { environment, main } from "../support/server.ts";
import { GateStage } from "./gate-stage.ts";

const codingTools = fileURLToPath(new URL("../support/coding-tools.ts", import.meta.url));

let world: GateStage;
before(async () => {
  world = await GateStage.open();
  await world.policy(`version: 1
rules:
  - { name: reads, match: { tool: read }, action: allow }
  - { name: status, match: { argv: [git, status] }, action: allow }
  - { name: removing, match: { argv: [rm] }, action: deny }
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

const players: readonly { tool: string; install: string }[] = [
  ...adapterNames.map((name) => ({ tool: name, install: name })),
  { tool: "copilot in VS Code", install: "copilot" },
];

test("GAT-9, GAT-10 every tool runs the hook that was installed for it, and obeys", async () => {
  const files = new Map<string, string>();
  for (const name of adapterNames) {
    files.set(name, JSON.parse(succeeded(await world.gate(["install", name, "--json"]))).file);
  }
  const play = async (uses: { tool: string; install: string; line: string }[]) => {
    const plan = uses.map((use) => ({ ...use, file: files.get(use.install) }));
    const env = { ...environment, ...world.env };
    return succeeded(await runNode([codingTools], { cwd: world.project, env, input: JSON.stringify(plan) }));
  };
  const fileOf = (tool: string) => `${tool.replaceAll(" ", "-")}.txt`;
  const made = () => players.filter(({ tool }) => existsSync(join(world.project, fileOf(tool))));
  // What is asked about is done once it is signed; what is denied is not.
  const signed = play(players.map((each) => ({ ...each, line: `touch ${fileOf(each.tool)}` })));
  for (const { tool } of players) await world.ann.decide(`touch ${fileOf(tool)}`, "approve");
  await signed;
  assert.deepEqual(made(), players);
  const remove = players.map((each) => ({ ...each, line: `rm ${fileOf(each.tool)}` }));
  await play(remove);
  assert.deepEqual(made(), players);
  // Where bridle is gone, nothing is done either.
  for (const file of files.values()) {
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(main, "/nowhere.js"));
  }
  await play(remove);
  assert.deepEqual(made(), players);
  for (const name of adapterNames) {
    succeeded(await world.gate(["uninstall", name]));
    assert.equal(existsSync(files.get(name) ?? ""), false, "it was ours alone");
  }
});

test("GAT-10 a hook is written into a configuration once, and taken out of it alone", async () => {
  const file = join(world.project, ".claude", "settings.json");
  mkdirSync(join(world.project, ".claude"), { recursive: true });
  const own = { model: "x", hooks: { Stop: [{ hooks: [{ type: "command", command: "true" }] }] } };
  writeFileSync(file, JSON.stringify(own));
  for (let twice = 0; twice < 2; twice++) succeeded(await world.gate(["install", "claude-code"]));
  const settings = JSON.parse(readFileSync(file, "utf8"));
  assert.equal(settings.hooks.PreToolUse.length, 1);
  succeeded(await world.gate(["uninstall", "claude-code"]));
  assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), own);
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

test("GAT-11 the guard of a shell stops what the policy is about, and nothing else", async () => {
  const guard = (line: string) => world.gate(["guard", "--line", line]);
  assert.equal((await guard("ls -la")).code, 0);
  assert.equal((await guard("git push --force")).code, 10);
  const denied = await world.decided(guard("git push mine"), "push mine", "deny");
  assert.equal(denied.code, 10);
});

test("GAT-11 bash runs no line that the guard denies, in groups and subshells either", async () => {
  const { stdout: init } = await world.gate(["shell-init", "bash"]);
  // In the place of bridle: denies what is called forbidden, and says what it was asked about.
  const bin = join(world.project, "bin");
  mkdirSync(bin);
  const script = '#!/bin/sh\necho "asked: $*" >&2\ncase "$*" in *forbidden*) exit 10;; esac\n';
  writeFileSync(join(bin, "bridle"), script, { mode: 0o755 });
  const forbidden = [
    "touch forbidden",
    "(touch forbidden)",
    "{ touch forbidden; }",
    "if true; then touch forbidden; fi",
    "true && touch forbidden",
    "touch forbidden &",
    "x=$(touch forbidden)",
    "echo forbidden | (read name; touch $name)",
  ];
  const prompt = "PROMPT_COMMAND=': made-by-the-prompt'\nPS1='$(echo made-by-the-prompt)'";
  const lines = `${prompt}\n${init}\n${forbidden.join("\n")}\ntouch permitted\nwait\n`;
  const { stderr } = await run("bash", ["--norc", "-i"], {
    cwd: world.project,
    env: { PATH: `${bin}:${process.env.PATH}` },
    input: lines,
  });
  assert.equal(existsSync(join(world.project, "permitted")), true, stderr);
  assert.equal(existsSync(join(world.project, "forbidden")), false, stderr);
  assert.doesNotMatch(stderr, /asked: .*made-by-the-prompt/);
});

test("GAT-11 zsh has a guard too, which is not run here, since there is no zsh", async () => {
  const { stdout } = await world.gate(["shell-init", "zsh"]);
  assert.match(stdout, /gate guard --line "\$PREBUFFER\$BUFFER" <\/dev\/tty; then\n.*\n +return 1/);
});
