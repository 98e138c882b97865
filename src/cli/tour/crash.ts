/** The middle of `bridle tour --crash`: the server is killed while a step runs, and started again on what it left. */

import { setTimeout as pause } from "node:timers/promises";
import { begun, type Ran } from "./execution-log.ts";
import type { OwnServer } from "./own-server.ts";
import type { Page } from "./page.ts";

/** The step that is cut off: the agent's own name for it. */
export const cutStep = "proofread";
/** How long it takes when it is to be cut off, and after which part of that. */
export const cutStepMs = 2500;
const killAfterMs = 500;

export interface Crash {
  step: string;
  killed_pid: number;
  killed_at: string;
  /** Until the server answered again. */
  down_ms: number;
  restarted_pid: number;
}

/** Kills the server in the middle of the step. Gives the moment. */
export async function killInStep(
  server: OwnServer,
  { tally, page, signal }: { tally: string; page: Page; signal: AbortSignal },
): Promise<Date> {
  await begun(tally, cutStep, signal);
  await pause(killAfterMs, undefined, { signal });
  const at = new Date();
  await server.kill();
  page.heading("A crash", "", page.style.danger);
  page.text(`The code of the step ${cutStep} was running when the server was killed.`);
  page.text(`${timeOf(at)}  kill -9 ${server.pid}`, page.style.danger);
  const answer = await server.remote.requireServer().then(
    () => "still answers",
    () => "is down (connection refused)",
  );
  page.text(`${server.url} ${answer}.`);
  return at;
}

export function tellRestart(page: Page, server: OwnServer, crash: Crash, recorded: readonly string[]): void {
  page.text("The same command on the same data starts it again:");
  page.text(
    `${server.url}  pid ${server.pid}, back ${seconds(crash.down_ms)} after the kill`,
    page.style.good,
  );
  page.note(
    "The agent's function runs again from the top. What was on disk is not done again, but gives what it gave before: " +
      `${recorded.join(", ")}. The stream of events goes on after the last one that was seen.`,
  );
  page.heading("The task goes on");
}

/** Shows how often each piece of code ran. Gives what is wrong with that: a promise that was broken. */
export function tellRuns(page: Page, ran: readonly Ran[], { killed_pid }: Crash): string | null {
  page.heading("How often the code really ran");
  page.note("By the lines that it left in a file, not by the log:");
  for (const { name, pids } of ran) {
    const times = pids.length === 1 ? "once" : pids.length === 2 ? "twice" : `${pids.length} times`;
    const where = pids.map((pid) => (pid === killed_pid ? `pid ${pid} (killed)` : `pid ${pid}`));
    page.item(times, name, where.join(", then "));
  }
  page.note(
    "Once for all that was recorded. What was cut off ran again. Steps run at least once. Pass the idempotency key to " +
      "external services to avoid duplicates.",
  );
  const repeated = ran.filter(({ name, pids }) => name !== cutStep && pids.length !== 1);
  return repeated.length === 0 ? null : `ran more than once: ${repeated.map(({ name }) => name).join(", ")}`;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function timeOf(at: Date): string {
  return `${at.toISOString().slice(11, 23)} UTC`;
}
