/** Which policies count: trusted ones may allow, and none lets a tool change the gate. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { temporaryDirectory } from "../../test/support/server.ts";
import { decideGate } from "./decide.ts";
import { loadPolicy, trustPolicy } from "./policy-files.ts";

let place: { path: string } & AsyncDisposable;
let before_: string | undefined;

before(async () => {
  place = await temporaryDirectory();
  before_ = process.env.XDG_CONFIG_HOME;
  process.env.XDG_CONFIG_HOME = join(place.path, "config");
});
after(async () => {
  if (before_ === undefined) delete process.env.XDG_CONFIG_HOME;
  else process.env.XDG_CONFIG_HOME = before_;
  await place[Symbol.asyncDispose]();
});

function actionOf(cwd: string, line: string): string {
  const { policy } = loadPolicy(cwd);
  return decideGate(policy, { tool: "Bash", kind: "shell", line }, { cwd, home: "/home/me" }).action;
}

test("GAT-3 a policy allows only as it was trusted, and a person's own is as strict as the project's", () => {
  const project = join(place.path, "project");
  mkdirSync(join(project, "deep"), { recursive: true });
  const file = join(project, "bridle.gate.yaml");
  assert.equal(actionOf(project, "ls"), "ask", "without a policy everything is asked");
  writeFileSync(file, "version: 1\ndefault: allow\nrules: [{ match: { argv: [rm] }, action: deny }]\n");
  assert.deepEqual([actionOf(project, "ls"), actionOf(project, "rm x")], ["ask", "deny"]);
  trustPolicy(file);
  assert.deepEqual([actionOf(join(project, "deep"), "ls"), actionOf(project, "rm x")], ["allow", "deny"]);
  writeFileSync(file, "version: 1\ndefault: allow\n");
  assert.equal(actionOf(project, "rm x"), "ask", "it was changed");
  trustPolicy(file);
  assert.equal(actionOf(project, "rm x"), "allow");
  mkdirSync(join(place.path, "config", "bridle"), { recursive: true });
  writeFileSync(
    join(place.path, "config", "bridle", "gate.yaml"),
    "version: 1\ndefault: allow\nrules: [{ match: { argv: [rm] }, action: deny }]\n",
  );
  assert.equal(actionOf(project, "rm x"), "deny");
  writeFileSync(file, "version: 1\nrules: no");
  assert.throws(() => loadPolicy(project), /rules/);
});

test("GAT-3 no policy lets a tool change the gate unasked", () => {
  const project = join(place.path, "open");
  mkdirSync(project);
  const file = join(project, "bridle.gate.yaml");
  writeFileSync(file, "version: 1\ndefault: allow\n");
  trustPolicy(file);
  trustPolicy(join(place.path, "config", "bridle", "gate.yaml"));
  const lines = [
    "bridle gate trust",
    "npx bridle gate uninstall claude-code",
    "bridle approver approve x --yes",
    "echo x > bridle.gate.yaml",
    "sed -i s/ask/allow/ ./bridle.gate.yaml",
    `touch ${join(place.path, "config", "bridle", "gate-trusted.json")}`,
    "tee .claude/settings.json",
  ];
  for (const line of lines) assert.equal(actionOf(project, line), "ask", line);
  assert.equal(actionOf(project, "echo $HOME"), "allow");
});
