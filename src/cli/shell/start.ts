/** Puts a chat together: where the engine is, who sits in front, and what they left open. */

import type { ShellSettings } from "../commands/shell.ts";
import { isRefusal, Remote } from "../remote.ts";
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
    defaultAgent: settings.agent === undefined && isTerminal ? await defaultAgentOf(remote) : null,
    sessionId: settings.session,
    mayStream: settings.stream,
  });
  return await chat.run();
}

/** Engines of others do not say, and a key may not be allowed to know. */
async function defaultAgentOf(remote: Remote): Promise<string | null> {
  try {
    const { default_agent } = await remote.json<{ default_agent?: unknown }>("GET", "/v1/runtime");
    return typeof default_agent === "string" ? default_agent : null;
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}
