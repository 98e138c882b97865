/** Tools that call things by other names, or hide a file in a place where nobody looks, do not get by a policy. */

import assert from "node:assert/strict";
import { homedir } from "node:os";
import { test } from "node:test";
import { decideGate } from "../decide.ts";
import { readPolicy } from "../policy.ts";
import { geminiCli } from "./gemini-cli.ts";
import { subjectOf } from "./tool-use.ts";

const cwd = "/work/project";
const policy = readPolicy(
  `
version: 1
rules:
  - match: { tool: [edit, read], paths: ["./src/**"] }
    action: allow
  - match: { tool: fetch, hosts: ["docs.example.com"] }
    action: allow
  - match: { argv: [cat], paths: ["./**"] }
    action: allow
  - match: { tool: "*", paths: ["/etc/**", "~/.ssh/**", ".env"] }
    action: deny
  - match: { argv: [rm, -rf] }
    action: deny
`,
  { file: "bridle.gate.yaml", root: cwd },
);

const actionOf = (tool: string, input: Record<string, unknown>) =>
  decideGate(policy, subjectOf(tool, input), { cwd, home: homedir() }).action;

test("GAT-9 files and addresses are found in a tool's input under any name, at any depth", () => {
  const expected: [action: string, tool: string, input: Record<string, unknown>][] = [
    ["allow", "Edit", { file_path: "src/a.ts", old_string: "/etc/passwd", new_string: ".env" }],
    ["allow", "MultiEdit", { file_path: "src/a.ts", edits: [{ old_string: "a", new_string: "b" }] }],
    ["allow", "read_file", { filePath: "/work/project/src/a.ts", startLine: 1 }],
    ["deny", "MultiEdit", { file_path: "src/a.ts", edits: [{ file_path: "/etc/passwd" }] }],
    ["ask", "MultiEdit", { file_path: "src/a.ts", edits: [{ filePath: "../other/a.ts" }] }],
    ["deny", "multi_replace", { replacements: [{ filePath: "src/a" }, { filePath: "a/.env" }] }],
    ["deny", "move_file", { source: "src/a.ts", destination: ".env" }],
    ["deny", "move_file", { src_name: "src/a.ts", dst_name: ".env" }],
    ["ask", "move_file", { from: "src/a.ts", to: "b.ts" }],
    ["deny", "Write", { file_path: "file:///etc/passwd", content: "x" }],
    ["deny", "Write", { file_path: "~/.ssh/authorized_keys" }],
    ["deny", "create_file", { uri: "file:///etc/cron.d/x", path: "src/a.ts" }],
    ["deny", "apply_patch", { input: "*** Begin Patch\n*** Update File: .env\n@@\n-a\n+b\n*** End Patch" }],
    ["deny", "apply_patch", { patch: "--- a/src/a.ts\n+++ b/.env\n@@ -1 +1 @@\n-a\n+b" }],
    ["allow", "apply_patch", { patch: "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1 @@\n-a\n+b" }],
    ["allow", "WebFetch", { url: "https://docs.example.com/x", prompt: "what is at https://evil.com" }],
    ["ask", "WebFetch", { url: "https://docs.example.com/x", proxy: { address: "https://evil.com" } }],
    ["ask", "Write", { file_path: "https://docs.example.com/x" }],
  ];
  for (const [action, tool, input] of expected)
    assert.equal(actionOf(tool, input), action, `${tool} ${JSON.stringify(input)}`);
});

test("GAT-9 a tool whose name says nothing is no reader, and one that takes a line is a shell", () => {
  assert.equal(actionOf("chmod", { path: "src/a.ts", mode: "777" }), "ask");
  assert.equal(actionOf("thread_kill", { path: "src/a.ts" }), "ask");
  for (const [tool, input] of Object.entries({
    exec_command: { cmd: "rm -rf x" },
    PowerShell: { command: "rm -rf x" },
    RunInConsole: { script: "rm -rf x" },
  }))
    assert.equal(actionOf(tool, input), "deny", tool);
});

test("GAT-9 a line that runs in another directory is judged there", () => {
  assert.equal(actionOf("Bash", { command: "cat passwd" }), "allow");
  assert.equal(actionOf("run_shell_command", { command: "cat passwd", dir_path: "/etc" }), "deny");
  assert.equal(actionOf("run_shell_command", { command: "cat a", directory: "../other" }), "ask");
  const input = {
    ...{ session_id: "g", cwd, hook_event_name: "BeforeTool", tool_name: "run_shell_command" },
    tool_input: { command: "cat passwd", directory: "/etc" },
  };
  const use = geminiCli.read(input);
  assert.equal(use.cwd, cwd);
  assert.equal(decideGate(policy, use.subject, { cwd, home: homedir() }).action, "deny");
});
