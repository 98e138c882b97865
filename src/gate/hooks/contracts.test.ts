/** Each adapter against examples of its tool's documented contract, as the tool would say them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { UnknownHookInput } from "./adapter.ts";
import { adapterNamed, adapters } from "./adapters.ts";

interface Recorded {
  input: Record<string, unknown>;
  subject: object;
  cwd: string | null;
  session: string | null;
  yes: { stdout: object | ""; exitCode: number };
  no: { stdout: object | ""; exitCode: number };
}

const claude = {
  session_id: "abc123",
  transcript_path: "/t.jsonl",
  cwd: "/work",
  permission_mode: "default",
  hook_event_name: "PreToolUse",
};
const claudeAnswers = {
  yes: {
    stdout: {
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "allow",
        permissionDecisionReason: "why",
      },
    },
    exitCode: 0,
  },
  no: { stdout: "" as const, exitCode: 2 },
};
const cursorBase = {
  conversation_id: "conv-1",
  generation_id: "gen-1",
  workspace_roots: ["/work"],
  cursor_version: "2.0.77",
};
const cursorAnswers = {
  yes: { stdout: { permission: "allow", user_message: "why", agent_message: "why" }, exitCode: 0 },
  no: { stdout: { permission: "deny", user_message: "why", agent_message: "why" }, exitCode: 2 },
};
const gemini = {
  session_id: "g1",
  transcript_path: "/t",
  cwd: "/work",
  hook_event_name: "BeforeTool",
  timestamp: "2026-01-21T22:13:15Z",
};
const geminiAnswers = {
  yes: { stdout: { decision: "allow", reason: "why" }, exitCode: 0 },
  no: { stdout: "" as const, exitCode: 2 },
};
const windsurfBase = { trajectory_id: "t1", execution_id: "e1", timestamp: "2026-01-01T00:00:00Z" };
const windsurfAnswers = {
  yes: { stdout: "" as const, exitCode: 0 },
  no: { stdout: "" as const, exitCode: 2 },
};
const cliAnswer = (permissionDecision: string) => ({
  stdout: { permissionDecision, permissionDecisionReason: "why" },
  exitCode: 0,
});

const recorded: Record<string, Recorded[]> = {
  "claude-code": [
    {
      input: {
        ...claude,
        tool_name: "Bash",
        tool_input: { command: "git push", description: "Push" },
        tool_use_id: "toolu_1",
      },
      subject: { tool: "Bash", kind: "shell", line: "git push" },
      cwd: "/work",
      session: "abc123",
      ...claudeAnswers,
    },
    {
      input: { ...claude, tool_name: "Write", tool_input: { file_path: "/work/a.txt", content: "x" } },
      subject: { tool: "Write", kind: "edit", paths: ["/work/a.txt"], urls: [] },
      cwd: "/work",
      session: "abc123",
      ...claudeAnswers,
    },
    {
      input: {
        ...claude,
        tool_name: "WebFetch",
        tool_input: { url: "https://example.com/x", prompt: "read" },
      },
      subject: { tool: "WebFetch", kind: "fetch", paths: [], urls: ["https://example.com/x"] },
      cwd: "/work",
      session: "abc123",
      ...claudeAnswers,
    },
  ],
  cursor: [
    {
      input: {
        ...cursorBase,
        hook_event_name: "beforeShellExecution",
        command: "npm publish",
        cwd: "/work/sub",
      },
      subject: { tool: "Shell", kind: "shell", line: "npm publish" },
      cwd: "/work/sub",
      session: "conv-1",
      ...cursorAnswers,
    },
    {
      input: {
        ...cursorBase,
        hook_event_name: "beforeMCPExecution",
        tool_name: "database_query",
        tool_input: '{"query":"SELECT 1"}',
      },
      subject: { tool: "mcp__database_query", kind: "mcp", paths: [], urls: [] },
      cwd: "/work",
      session: "conv-1",
      ...cursorAnswers,
    },
  ],
  copilot: [
    {
      input: {
        timestamp: 1_704_614_600_000,
        cwd: "/work",
        toolName: "bash",
        toolArgs: '{"command":"rm -rf dist","description":"Clean"}',
      },
      subject: { tool: "bash", kind: "shell", line: "rm -rf dist" },
      cwd: "/work",
      session: null,
      yes: cliAnswer("allow"),
      no: cliAnswer("deny"),
    },
    {
      input: {
        timestamp: "2026-02-09T10:30:00Z",
        cwd: "/work",
        sessionId: "s",
        hookEventName: "PreToolUse",
        tool_name: "run_in_terminal",
        tool_input: { command: "ls" },
      },
      subject: { tool: "run_in_terminal", kind: "shell", line: "ls" },
      cwd: "/work",
      session: "s",
      ...claudeAnswers,
    },
  ],
  windsurf: [
    {
      input: {
        ...windsurfBase,
        agent_action_name: "pre_run_command",
        tool_info: { command_line: "npm install", cwd: "/work" },
      },
      subject: { tool: "run_command", kind: "shell", line: "npm install" },
      cwd: "/work",
      session: "t1",
      ...windsurfAnswers,
    },
    {
      input: {
        ...windsurfBase,
        agent_action_name: "pre_write_code",
        tool_info: { file_path: "/work/a.py", edits: [{ old_string: "a", new_string: "b" }] },
      },
      subject: { tool: "write_code", kind: "edit", paths: ["/work/a.py"] },
      cwd: null,
      session: "t1",
      ...windsurfAnswers,
    },
    {
      input: {
        ...windsurfBase,
        agent_action_name: "pre_mcp_tool_use",
        tool_info: {
          mcp_server_name: "github",
          mcp_tool_name: "create_issue",
          mcp_tool_arguments: { title: "x" },
        },
      },
      subject: { tool: "mcp__github__create_issue", kind: "mcp", paths: [], urls: [] },
      cwd: null,
      session: "t1",
      ...windsurfAnswers,
    },
  ],
  "gemini-cli": [
    {
      input: {
        ...gemini,
        tool_name: "run_shell_command",
        tool_input: { command: "make deploy", description: "d" },
      },
      subject: { tool: "run_shell_command", kind: "shell", line: "make deploy" },
      cwd: "/work",
      session: "g1",
      ...geminiAnswers,
    },
    {
      input: {
        ...gemini,
        tool_name: "write_file",
        tool_input: { file_path: "test.txt", content: "Test content" },
      },
      subject: { tool: "write_file", kind: "edit", paths: ["test.txt"], urls: [] },
      cwd: "/work",
      session: "g1",
      ...geminiAnswers,
    },
  ],
};

test("GAT-9 every adapter reads and answers its tool's documented examples", () => {
  assert.deepEqual(Object.keys(recorded).sort(), adapters.map(({ name }) => name).sort());
  for (const [name, examples] of Object.entries(recorded)) {
    const adapter = adapterNamed(name);
    for (const { input, subject, cwd, session, yes, no } of examples) {
      const use = adapter.read(input);
      assert.deepEqual(use.subject, subject, name);
      assert.deepEqual([use.cwd, use.session], [cwd, session], name);
      for (const [isAllowed, expected] of [
        [true, yes],
        [false, no],
      ] as const) {
        const { stdout, stderr, exitCode } = adapter.answer({ isAllowed, reason: "why" }, input);
        assert.deepEqual(
          [stdout === "" ? "" : JSON.parse(stdout), exitCode],
          [expected.stdout, expected.exitCode],
          name,
        );
        if (!isAllowed && expected.stdout === "") assert.equal(stderr, "why\n", name);
      }
    }
  }
});

test("GAT-9 what is not in the form of the contract is refused, and no refusal looks like a yes", () => {
  for (const { name, read, answer } of adapters) {
    for (const input of [
      {},
      { tool_name: 7 },
      { hook_event_name: "afterFileEdit" },
      { agent_action_name: "post_run_command" },
      { toolName: "bash", toolArgs: "{" },
    ]) {
      assert.throws(() => read(input), UnknownHookInput, `${name} ${JSON.stringify(input)}`);
    }
    const { stdout, exitCode } = answer({ isAllowed: false, reason: "no" }, null);
    assert.equal(exitCode, 2, name);
    assert.doesNotMatch(stdout, /allow/, name);
  }
  // A shell whose line is not known is not plain, whatever its policy allows.
  const { subject } = adapterNamed("claude-code").read({
    ...claude,
    tool_name: "Bash",
    tool_input: { command: ["rm"] },
  });
  assert.equal(subject.line, "'");
});

test("GAT-10 a configuration keeps everything else when the hook is written and taken out", () => {
  for (const { name, withHook, without } of adapters) {
    const other = { matcher: "Bash", hooks: [{ type: "command", command: "lint" }] };
    const config = { version: 1, model: "x", hooks: { PreToolUse: [other], stop: [{ command: "notify" }] } };
    const isOurs = (command: unknown) => command === "OURS";
    const installed = withHook(config, "OURS");
    assert.ok(JSON.stringify(installed).includes("OURS"), name);
    assert.partialDeepStrictEqual(installed, { model: "x" });
    assert.deepEqual(without(installed, isOurs), config, name);
    assert.deepEqual(without(withHook(without(installed, isOurs), "OURS"), isOurs), config, name);
  }
});
