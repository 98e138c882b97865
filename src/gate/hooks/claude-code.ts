/** Claude Code: `PreToolUse` in settings.json. Input and output are JSON; exit code 2 blocks, whatever was printed. */

import {
  blocked,
  type HookAdapter,
  hookSeconds,
  objectIn,
  optionalText,
  said,
  textIn,
  withEntries,
  withoutEntries,
} from "./adapter.ts";
import { subjectOf } from "./tool-use.ts";

export const claudeCode: HookAdapter = {
  name: "claude-code",
  contract: "Claude Code hooks reference, PreToolUse with hookSpecificOutput.permissionDecision (2026)",
  read(input) {
    const tool = textIn(input, "tool_name");
    const details = objectIn(input.tool_input);
    return {
      subject: subjectOf(tool, details),
      details: { tool, input: details },
      cwd: optionalText(input.cwd),
      session: optionalText(input.session_id),
    };
  },
  answer({ isAllowed, reason }) {
    if (!isAllowed) return blocked(reason);
    return said({
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "allow",
        permissionDecisionReason: reason,
      },
    });
  },
  files: { project: ".claude/settings.json", user: "~/.claude/settings.json" },
  withHook(config, command) {
    const hooks = [{ type: "command", command, timeout: hookSeconds }];
    return withEntries(config, { PreToolUse: { matcher: "*", hooks } });
  },
  without: withoutEntries,
};
