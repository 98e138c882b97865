/** `bridle acp`: its options. The agent itself is loaded when it is asked for. */

import { type Command, Option } from "commander";
import { type RemoteSettings, withRemoteOptions } from "../remote.ts";

export interface AcpSettings extends RemoteSettings {
  agent?: string;
  persona?: string;
  workspace?: string;
}

export function addAcpCommand(program: Command): void {
  withRemoteOptions(
    program
      .command("acp")
      .description("Be an agent for an editor: the Agent Client Protocol over standard input and output.")
      .option("--agent <name>", "which agent, or persona; the default one otherwise")
      .addOption(new Option("--persona <id>", "which persona, by its id").conflicts("agent"))
      .option("--workspace <id>", "where new sessions are; the default workspace otherwise"),
  )
    .addHelpText(
      "after",
      `
An editor starts it, for instance with this in Zed's settings:
  "agent_servers": {
    "Bridle": {
      "type": "custom",
      "command": "bridle",
      "args": ["acp", "--agent", "assistant"],
      "env": { "BRIDLE_KEY": "bridle_…" }
    }
  }`,
    )
    .action(async (settings: AcpSettings) => {
      const { serveEditor } = await import("../acp/serve-editor.ts");
      await serveEditor(settings);
    });
}
