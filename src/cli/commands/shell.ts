/** `bridle shell`: its options. The chat itself is loaded when it is asked for. */

import type { Command } from "commander";
import { type RemoteSettings, withRemoteOptions } from "../remote.ts";

export interface ShellSettings extends RemoteSettings {
  agent?: string;
  session?: string;
  stream: boolean;
}

export function addShellCommand(program: Command): void {
  withRemoteOptions(
    program
      .command("shell")
      .summary("Talk to an agent, at a terminal or through a pipe.")
      .description(
        "Talk to an agent: at a terminal, or one message a line through a pipe. Exit code 1 when a message failed.",
      )
      .option(
        "--agent <name>",
        "which agent, or persona; without it the server's default: the project's own, if it has one",
      )
      .option("--session <id>", "go on with this conversation, or give a new one this name")
      .option("--no-stream", "wait for whole responses"),
  ).action(async (settings: ShellSettings) => {
    const { startChat } = await import("../shell/start.ts");
    process.exitCode = await startChat(settings);
  });
}
