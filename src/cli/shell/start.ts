/** Puts a chat together: where the engine is, who sits in front, and what they left open. */

import type { ShellSettings } from "../commands/shell.ts";
import { Remote } from "../remote.ts";
import { styleFor } from "../terminal/style.ts";
import { Chat } from "./chat.ts";
import { OpenRuns, stateDirectory } from "./open-runs.ts";
import { pipeDialogue } from "./pipe.ts";
import { Terminal } from "./terminal.ts";

/** Gives the exit code. */
export async function startChat(settings: ShellSettings): Promise<number> {
  const { stdin, stdout, stderr, env } = process;
  const remote = new Remote(settings);
  await remote.requireServer();
  const isTerminal = stdin.isTTY === true && stdout.isTTY === true;
  const style = styleFor({ isTerminal, env });
  const chat = new Chat({
    remote,
    dialogue: isTerminal ? new Terminal(stdin, stdout, style) : pipeDialogue(stdin, stdout, stderr),
    style,
    runs: new OpenRuns(stateDirectory(env), remote.url),
    agent: settings.agent ?? null,
    sessionId: settings.session,
    mayStream: settings.stream,
  });
  return await chat.run();
}
