/** Following a task until it has ended: as a view on a terminal, as lines elsewhere, as JSON for scripts. */

import type { BridleEvent } from "../../sdk/client/index.ts";
import { exitCodes } from "../exit-codes.ts";
import type { Remote } from "../remote.ts";
import { styleFor } from "../terminal/style.ts";
import { escapedJson, oneLine } from "../terminal/text.ts";
import { factIn } from "./facts.ts";
import { LiveView } from "./live-view.ts";
import { logLine } from "./log-lines.ts";
import { unseen, type ViewState, withFact } from "./view-state.ts";

export interface WatchSettings {
  json?: true;
  /** False: nobody is asked, although there is a terminal. */
  ask?: boolean;
  /** What steps were given and gave, below their lines. */
  verbose?: true;
  full?: true;
}

/** Ends with the task, or with Ctrl-C. The exit code says which, and how the task ended. */
export async function watchTask(remote: Remote, taskId: string, settings: WatchSettings): Promise<void> {
  // Whether it is there at all, before there is anything on the screen.
  await remote.client.tasks.get(taskId);
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, stop);
  try {
    const { status } = await (isView(settings)
      ? new LiveView(remote, taskId, stopping, settings.ask !== false).run()
      : tellLines(remote, taskId, stopping.signal, settings));
    if (status !== "COMPLETED") process.exitCode = exitCodes.failed.code;
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
    process.stderr.write(`The task goes on. To see more of it: bridle task watch ${oneLine(taskId)}\n`);
    process.exitCode = exitCodes.interrupted.code;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(signal, stop);
  }
}

function isView({ json }: WatchSettings): boolean {
  return json !== true && process.stdout.isTTY === true && process.env.TERM !== "dumb";
}

async function tellLines(
  remote: Remote,
  taskId: string,
  signal: AbortSignal,
  settings: WatchSettings,
): Promise<ViewState> {
  let wasConnected = true;
  const onConnection = (isConnected: boolean) => {
    if (isConnected === wasConnected) return;
    wasConnected = isConnected;
    process.stderr.write(
      isConnected ? "bridle: connected again\n" : "bridle: the server does not answer; reconnecting\n",
    );
  };
  return await tellEvents(remote.client.tasks.events(taskId, { signal, onConnection }), taskId, settings);
}

/** What has happened until now or, with `follow`, until the task has ended. */
export async function tellLog(
  remote: Remote,
  taskId: string,
  settings: WatchSettings & { follow?: true },
): Promise<void> {
  const path = `/v1/tasks/${encodeURIComponent(taskId)}/events`;
  const events =
    settings.follow === true ? remote.client.tasks.events(taskId) : remote.items<BridleEvent>(path);
  await tellEvents(events, taskId, settings);
}

/** Writes events as they come; gives what they came to. */
async function tellEvents(
  events: AsyncIterable<BridleEvent>,
  taskId: string,
  { json, verbose, full }: WatchSettings,
): Promise<ViewState> {
  const verbosity = full === true ? "full" : verbose === true ? "verbose" : "brief";
  const style = styleFor({ isTerminal: process.stdout.isTTY === true, env: process.env });
  let state = unseen(taskId);
  for await (const event of events) {
    const fact = factIn(event);
    if (fact !== null) state = withFact(state, fact);
    const line =
      json === true
        ? `${escapedJson(event)}\n`
        : fact === null
          ? null
          : logLine(fact, state, style, verbosity);
    if (line !== null) process.stdout.write(line);
  }
  return state;
}
