/** Windsurf Cascade: `pre_*` in hooks.json. Exit code 2 blocks, with standard error as the reason; there is no other answer. */

import {
  blocked,
  type HookAdapter,
  type HookUse,
  objectIn,
  optionalText,
  silent,
  textIn,
  UnknownHookInput,
  withEntries,
  withoutEntries,
} from "./adapter.ts";
import { subjectOf } from "./tool-use.ts";

const events = ["pre_run_command", "pre_write_code", "pre_read_code", "pre_mcp_tool_use"] as const;

export const windsurf: HookAdapter = {
  name: "windsurf",
  contract: "Windsurf Cascade hooks, agent_action_name with tool_info and exit code 2 (2026)",
  read(input) {
    const info = objectIn(input.tool_info);
    const use = useOf(textIn(input, "agent_action_name"), info);
    return { ...use, cwd: optionalText(info.cwd), session: optionalText(input.trajectory_id) };
  },
  answer({ isAllowed, reason }) {
    return isAllowed ? silent : blocked(reason);
  },
  files: { project: ".windsurf/hooks.json", user: "~/.codeium/windsurf/hooks.json" },
  withHook(config, command) {
    const entry = { command, show_output: true };
    return withEntries(config, Object.fromEntries(events.map((event) => [event, entry])));
  },
  without: withoutEntries,
};

function useOf(event: string, info: Record<string, unknown>): Pick<HookUse, "subject" | "details"> {
  const details = (tool: string) => ({ tool, input: info });
  switch (event) {
    case "pre_run_command":
      return {
        subject: subjectOf("run_command", { command: textIn(info, "command_line") }),
        details: details("run_command"),
      };
    case "pre_write_code":
      return {
        subject: { tool: "write_code", kind: "edit", paths: [textIn(info, "file_path")] },
        details: details("write_code"),
      };
    case "pre_read_code":
      return {
        subject: { tool: "read_code", kind: "read", paths: [textIn(info, "file_path")] },
        details: details("read_code"),
      };
    case "pre_mcp_tool_use": {
      const tool = `mcp__${textIn(info, "mcp_server_name")}__${textIn(info, "mcp_tool_name")}`;
      return { subject: subjectOf(tool, objectIn(info.mcp_tool_arguments)), details: details(tool) };
    }
    default:
      throw new UnknownHookInput(`${event} is not an event that this hook decides about.`);
  }
}
