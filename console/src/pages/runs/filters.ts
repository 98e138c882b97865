/** What is looked for is in the address: it can be kept as a bookmark and sent to others. */

import type { ListTasks, TaskStatus } from "bridle/client";
import { statuses } from "../../parts/Status.tsx";
import { text } from "../../text.ts";

export type TimeRange = keyof typeof text.runs.times;
export const timeRanges = Object.keys(text.runs.times) as TimeRange[];

export interface RunFilters {
  status?: TaskStatus;
  agent?: string;
  since?: TimeRange;
  session?: string;
}

const hourMs = 60 * 60 * 1000;
const rangeMs: Record<TimeRange, number> = {
  "1h": hourMs,
  "24h": 24 * hourMs,
  "7d": 7 * 24 * hourMs,
  "30d": 30 * 24 * hourMs,
};

/** What an address does not say right is not looked for. */
export function readRunFilters(search: Record<string, unknown>): RunFilters {
  const status = statuses.find((one) => one === search.status);
  const since = timeRanges.find((one) => one === search.since);
  const word = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  const [agent, session] = [word(search.agent), word(search.session)];
  return {
    ...(status === undefined ? {} : { status }),
    ...(agent === undefined ? {} : { agent }),
    ...(since === undefined ? {} : { since }),
    ...(session === undefined ? {} : { session }),
  };
}

export function isFiltered(filters: RunFilters): boolean {
  return Object.keys(filters).length > 0;
}

export function requestFor({ status, agent, since, session }: RunFilters, now: number): ListTasks {
  return {
    ...(status === undefined ? {} : { status }),
    ...(agent === undefined ? {} : { agent }),
    ...(session === undefined ? {} : { sessionId: session }),
    ...(since === undefined ? {} : { since: new Date(now - rangeMs[since]) }),
  };
}
