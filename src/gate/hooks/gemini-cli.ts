/** Gemini CLI: `BeforeTool` in settings.json. Exit code 2 blocks, with standard error as the reason. Time-outs are in milliseconds. */

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

export const geminiCli: HookAdapter = {
  name: "gemini-cli",
  contract: "Gemini CLI hooks reference, BeforeTool with decision allow and exit code 2 (2026-01)",
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
    return isAllowed ? said({ decision: "allow", reason }) : blocked(reason);
  },
  files: { project: ".gemini/settings.json", user: "~/.gemini/settings.json" },
  withHook(config, command) {
    const hooks = [{ name: "bridle-gate", type: "command", command, timeout: hookSeconds * 1000 }];
    return withEntries(config, { BeforeTool: { matcher: "*", hooks } });
  },
  without: withoutEntries,
};
