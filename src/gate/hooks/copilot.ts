/**
 * GitHub Copilot: `preToolUse` of the CLI and the cloud agent (toolName, toolArgs as JSON in a string), and `PreToolUse` of agent
 * mode in VS Code (tool_name, tool_input). Both read .github/hooks/*.json; what was said tells which of them asks.
 */

import {
  blocked,
  type HookAdapter,
  hookSeconds,
  objectIn,
  optionalText,
  said,
  textIn,
  UnknownHookInput,
  withEntries,
  withoutEntries,
} from "./adapter.ts";
import { subjectOf } from "./tool-use.ts";

export const copilot: HookAdapter = {
  name: "copilot",
  contract:
    "GitHub Copilot hooks configuration version 1, preToolUse (CLI), and VS Code agent hooks, PreToolUse (preview, 1.109)",
  read(input) {
    const isCli = "toolName" in input;
    const tool = textIn(input, isCli ? "toolName" : "tool_name");
    const details = isCli ? argumentsIn(input.toolArgs) : objectIn(input.tool_input);
    return {
      subject: subjectOf(tool, details),
      details: { tool, input: details },
      cwd: optionalText(input.cwd),
      session: optionalText(input.sessionId ?? input.session_id),
    };
  },
  answer({ isAllowed, reason }, input) {
    const decision = { permissionDecision: isAllowed ? "allow" : "deny", permissionDecisionReason: reason };
    // The CLI reads the answer only with exit code 0.
    if (input !== null && "toolName" in input) return said(decision);
    if (!isAllowed) return blocked(reason);
    return said({ hookSpecificOutput: { hookEventName: "PreToolUse", ...decision } });
  },
  files: { project: ".github/hooks/bridle-gate.json", user: "~/.copilot/hooks/bridle-gate.json" },
  withHook(config, command) {
    // VS Code reads the CLI's form too.
    return withEntries(
      { version: 1, ...config },
      { preToolUse: { type: "command", bash: command, timeoutSec: hookSeconds } },
    );
  },
  without: withoutEntries,
};

function argumentsIn(value: unknown): Record<string, unknown> {
  if (typeof value !== "string") return objectIn(value);
  try {
    return objectIn(JSON.parse(value));
  } catch {
    throw new UnknownHookInput("toolArgs is not JSON.");
  }
}
