/**
 * Plays coding tools, in a process of its own: reads the hook from the configuration that the tool reads, tells it what the
 * tool is about to do in the form of the tool's contract, and does it unless the answer forbids it. Like the tools, it takes
 * everything that is no clear answer for "go on".
 *
 * On standard input: `[{ tool, file, line }]`; each line is a command for a shell, about to be run in the working directory.
 */

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";

interface Use {
  tool: string;
  /** The configuration of the tool. */
  file: string;
  line: string;
}

interface Ended {
  code: number | null;
  stdout: string;
}

interface CodingTool {
  /** Where in the configuration the command of the hook is. */
  command(hooks: Record<string, Entry[]>): string | undefined;
  input(line: string): object;
  forbids(ended: Ended): boolean;
}

interface Entry {
  command?: string;
  bash?: string;
  matcher?: string;
  hooks?: { command: string }[];
}

const cwd = process.cwd();

const saysNo = ({ stdout }: Ended, ...path: string[]): boolean => {
  let value: unknown;
  try {
    value = JSON.parse(stdout);
  } catch {
    return false;
  }
  for (const name of path) value = Object(value)[name];
  return ["deny", "block", "ask"].includes(String(value));
};
const nested = (entries: Entry[] = [], name: string) =>
  entries.find(({ matcher = "*" }) => matcher === "*" || new RegExp(`^(?:${matcher})$`).test(name))
    ?.hooks?.[0]?.command;

const tools: Record<string, CodingTool> = {
  "claude-code": {
    command: ({ PreToolUse }) => nested(PreToolUse, "Bash"),
    input: (command) => ({
      ...{ session_id: "s", transcript_path: "/t", cwd, permission_mode: "default" },
      ...{ hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command }, tool_use_id: "u" },
    }),
    forbids: (ended) => ended.code === 2 || saysNo(ended, "hookSpecificOutput", "permissionDecision"),
  },
  cursor: {
    command: ({ beforeShellExecution }) => beforeShellExecution?.[0]?.command,
    input: (command) => ({
      ...{ conversation_id: "c", generation_id: "g", workspace_roots: [cwd] },
      ...{ hook_event_name: "beforeShellExecution", command, cwd },
    }),
    forbids: (ended) => ended.code === 2 || saysNo(ended, "permission"),
  },
  copilot: {
    command: ({ preToolUse }) => preToolUse?.[0]?.bash,
    input: (command) => ({
      ...{ timestamp: Date.now(), cwd, toolName: "bash" },
      toolArgs: JSON.stringify({ command, description: "d" }),
    }),
    forbids: (ended) => ended.code === 2 || (ended.code === 0 && saysNo(ended, "permissionDecision")),
  },
  "copilot in VS Code": {
    command: ({ preToolUse }) => preToolUse?.[0]?.bash,
    input: (command) => ({
      ...{ timestamp: new Date().toISOString(), cwd, sessionId: "s", hookEventName: "PreToolUse" },
      ...{ tool_name: "run_in_terminal", tool_input: { command } },
    }),
    forbids: (ended) => ended.code === 2 || saysNo(ended, "hookSpecificOutput", "permissionDecision"),
  },
  windsurf: {
    command: ({ pre_run_command }) => pre_run_command?.[0]?.command,
    input: (command_line) => ({
      ...{ agent_action_name: "pre_run_command", trajectory_id: "t", execution_id: "e" },
      tool_info: { command_line, cwd },
    }),
    forbids: ({ code }) => code === 2,
  },
  "gemini-cli": {
    command: ({ BeforeTool }) => nested(BeforeTool, "run_shell_command"),
    input: (command) => ({
      ...{ session_id: "g", transcript_path: "/t", cwd, hook_event_name: "BeforeTool" },
      ...{ tool_name: "run_shell_command", tool_input: { command, description: "d" } },
    }),
    forbids: (ended) => ended.code === 2 || saysNo(ended, "decision"),
  },
};

function shell(line: string, input: string): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", line], { stdio: ["pipe", "pipe", "inherit"] });
    const stdout = text(child.stdout);
    child.once("error", reject);
    child.once("close", async (code) => resolve({ code, stdout: await stdout }));
    child.stdin.on("error", () => {}).end(input);
  });
}

async function use({ tool, file, line }: Use): Promise<void> {
  const { command, input, forbids } = tools[tool] ?? fail(`no tool ${tool}`);
  const config: { hooks: Record<string, Entry[]> } = JSON.parse(readFileSync(file, "utf8"));
  const hook = command(config.hooks) ?? fail(`${file} has no hook of ${tool}`);
  const ended = await shell(hook, JSON.stringify(input(line)));
  if (!forbids(ended)) await shell(line, "");
}

function fail(problem: string): never {
  throw new Error(problem);
}

const uses: Use[] = JSON.parse(await text(process.stdin));
await Promise.all(uses.map(use));
