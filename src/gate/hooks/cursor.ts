/**
 * Cursor: `beforeShellExecution`, `beforeMCPExecution` and `preToolUse` in hooks.json. The answer is a `permission`; exit code 2
 * blocks too, and `failClosed` blocks when the hook does not come to an answer.
 */

import {
  type HookAdapter,
  type HookUse,
  hookSeconds,
  objectIn,
  optionalText,
  textIn,
  UnknownHookInput,
  withEntries,
  withoutEntries,
} from "./adapter.ts";
import { subjectOf } from "./tool-use.ts";

export const cursor: HookAdapter = {
  name: "cursor",
  contract: "Cursor hooks, hooks.json version 1 with permission, user_message and agent_message (2.x)",
  read(input) {
    const place = { cwd: placeOf(input), session: optionalText(input.conversation_id) };
    return { ...useOf(input), ...place };
  },
  answer({ isAllowed, reason }) {
    const permission = isAllowed ? "allow" : "deny";
    const stdout = `${JSON.stringify({ permission, user_message: reason, agent_message: reason })}\n`;
    return { stdout, stderr: isAllowed ? "" : `${reason}\n`, exitCode: isAllowed ? 0 : 2 };
  },
  files: { project: ".cursor/hooks.json", user: "~/.cursor/hooks.json" },
  withHook(config, command) {
    const entry = { command, timeout: hookSeconds, failClosed: true };
    const events = { beforeShellExecution: entry, beforeMCPExecution: entry };
    // What runs commands and MCP tools is told by the events above.
    const others = {
      preToolUse: { ...entry, matcher: "Read|Write|Edit|Delete|StrReplace|EditNotebook|WebFetch|Task" },
    };
    return withEntries({ version: 1, ...config }, { ...events, ...others });
  },
  without: withoutEntries,
};

function useOf(input: Record<string, unknown>): Pick<HookUse, "subject" | "details"> {
  const event = textIn(input, "hook_event_name");
  switch (event) {
    case "beforeShellExecution": {
      const command = textIn(input, "command");
      return { subject: subjectOf("Shell", { command }), details: { tool: "Shell", input: { command } } };
    }
    case "beforeMCPExecution": {
      const tool = `mcp__${textIn(input, "tool_name")}`;
      const given = parsed(input.tool_input);
      return {
        subject: subjectOf(tool, given),
        details: { tool, input: given, server: input.url ?? input.command ?? null },
      };
    }
    case "preToolUse": {
      const tool = textIn(input, "tool_name");
      const given = parsed(input.tool_input);
      return { subject: subjectOf(tool, given), details: { tool, input: given } };
    }
    default:
      throw new UnknownHookInput(`${event} is not an event that this hook decides about.`);
  }
}

/** An object, or its JSON in a string. */
function parsed(value: unknown): Record<string, unknown> {
  if (typeof value !== "string") return objectIn(value);
  try {
    return objectIn(JSON.parse(value));
  } catch {
    throw new UnknownHookInput("tool_input is not JSON.");
  }
}

function placeOf({ cwd, workspace_roots }: Record<string, unknown>): string | null {
  const roots: unknown[] = Array.isArray(workspace_roots) ? workspace_roots : [];
  return optionalText(cwd) ?? (roots.length === 1 ? optionalText(roots[0]) : null);
}
