/** What tasks do, a line each time, in the terminal of `bridle dev`. */

import { eventId } from "../../kernel/core/events.ts";
import { systemCaller } from "../../policy/caller.ts";
import { isEvent } from "../../sdk/client/follow.ts";
import type { Server } from "../../server/server.ts";
import type { StoredEvent } from "../../store/port.ts";
import { presentEvent } from "../../surfaces/harn/present-event.ts";
import { factIn, type TimedFact } from "../task/facts.ts";
import { wordsOf } from "../task/log-lines.ts";
import { unseen, type ViewState, withFact } from "../task/view-state.ts";
import type { Style } from "../terminal/style.ts";
import { escapeControls, oneLine } from "../terminal/text.ts";

/** Tasks that are followed at once; the oldest are forgotten. */
const tasksMax = 500;
const shownKinds: ReadonlySet<TimedFact["kind"]> = new Set([
  "started",
  "step_ended",
  "retried",
  "question",
  "parked",
  "ended",
]);

/** Gives the way to stop. */
export function reportTasks({ kernel }: Server, style: Style, write: (line: string) => void): () => void {
  const states = new Map<string, ViewState>();
  let last = Promise.resolve();
  const report = async (stored: StoredEvent) => {
    const { taskId, tenantId, replay } = stored;
    if (taskId === null || replay !== undefined) return;
    const { store, approvals } = kernel;
    const viewer = { store, approvals, caller: systemCaller(tenantId) };
    // It is what the API sends, which the client reads in the same form.
    const event = await presentEvent(stored, viewer);
    const fact = isEvent(event) ? factIn(event) : null;
    if (fact === null) return;
    const state = withFact(states.get(taskId) ?? unseen(taskId), fact);
    states.delete(taskId);
    if (fact.kind !== "ended") states.set(taskId, state);
    const [oldest] = states.size > tasksMax ? states.keys() : [];
    if (oldest !== undefined) states.delete(oldest);
    const line = lineOf(fact, state, style);
    if (line !== null) write(line);
  };
  return kernel.tail.onCommit((events) => {
    for (const event of events)
      last = last.then(() => report(event)).catch((error) => write(failed(event, error)));
  });
}

function lineOf(fact: TimedFact, state: ViewState, style: Style): string | null {
  const words = shownKinds.has(fact.kind) ? wordsOf(fact, state) : null;
  if (words === null) return null;
  const [word, text, kind] = words;
  const paint = kind === undefined ? (same: string) => same : style[kind];
  const time = new Date(fact.at).toTimeString().slice(0, 8);
  const who = `${(state.agent ?? "").split("@")[0]} ${state.taskId.slice(-6)}`;
  return `${style.faint(`${time}  ${oneLine(who)}`)}  ${paint(oneLine(word))} ${escapeControls(text).split("\n")[0]}`;
}

function failed({ position }: StoredEvent, error: unknown): string {
  return `Event ${eventId(position)} cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
}
