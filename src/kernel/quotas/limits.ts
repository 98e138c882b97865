/** What a quota has left, as a function of its record and the time. */

import {
  type Amounts,
  type LimitName,
  limitNames,
  plus,
  type QuotaRecord,
  type ResetWindow,
  rounded,
} from "../kinds/quota.ts";

const minuteMs = 60_000;

/** The quota as it is now: a window that is over counts no more. */
export function current(quota: QuotaRecord, now: number): QuotaRecord {
  return isResetDue(quota, now)
    ? { ...quota, usage: {}, exhaustion_reason: null, reset_at: nextReset(quota, now) }
    : quota;
}

export function isResetDue({ reset_at }: QuotaRecord, now: number): boolean {
  return reset_at !== null && Date.parse(reset_at) <= now;
}

/** The end of the window that this moment lies in; windows begin on the hour, at midnight UTC, on Monday, on the first. */
export function nextReset({ reset_window }: Pick<QuotaRecord, "reset_window">, now: number): string | null {
  return reset_window === null ? null : new Date(windowEnd[reset_window](new Date(now))).toISOString();
}

const windowEnd: Record<ResetWindow, (now: Date) => number> = {
  minute: (now) => (Math.floor(now.getTime() / minuteMs) + 1) * minuteMs,
  hour: (now) => (Math.floor(now.getTime() / (60 * minuteMs)) + 1) * 60 * minuteMs,
  day: (now) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1),
  week: (now) =>
    Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 7 - ((now.getUTCDay() + 6) % 7)),
  month: (now) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1),
};

/** Settled and reserved together, and the running minute. */
export function usageOf(quota: QuotaRecord, now: number): Amounts {
  const reserved = Object.values(quota.open).reduce(plus, {});
  const { tasks_per_minute: _, ...used } = plus(quota.usage, reserved);
  const perMinute =
    quota.limits.tasks_per_minute === undefined ? {} : { tasks_per_minute: minuteOf(quota, now).tasks };
  return { ...used, concurrency: quota.running, ...perMinute };
}

export function minuteOf({ minute }: QuotaRecord, now: number): { since: string; tasks: number } {
  const isOver = minute === null || Date.parse(minute.since) + minuteMs <= now;
  return isOver ? { since: new Date(now).toISOString(), tasks: 0 } : minute;
}

export interface Exhaustion {
  limit: LimitName;
  most: number;
  used: number;
  /** When it may be tried again; null when time alone does not help. */
  retryAfterMs: number | null;
  /** It is not used up: what is missing is reserved for models that are answering, and most of it may come back. */
  isHeld: boolean;
}

/** Reserved before it is known how much is used. */
const estimated: ReadonlySet<LimitName> = new Set(["input_tokens", "output_tokens", "usd"]);
const heldRetryMs = 1000;

/** The first limit that does not allow this much more. What asks for nothing of a limit is not stopped by it. */
export function exhausted(quota: QuotaRecord, asked: Amounts, now: number): Exhaustion | null {
  const used = usageOf(quota, now);
  for (const limit of limitNames) {
    const most = quota.limits[limit];
    if (most === undefined) continue;
    const before = used[limit] ?? 0;
    const more = asked[limit];
    if (more === undefined || rounded(before + more) <= most) continue;
    const isHeld = estimated.has(limit) && rounded((quota.usage[limit] ?? 0) + more) <= most;
    const retryAfterMs = isHeld ? heldRetryMs : retryAfter(quota, limit, now);
    return { limit, most, used: before, retryAfterMs, isHeld };
  }
  return null;
}

/** Why the quota was exhausted last, for as long as that is so: room for one more may have come by itself. */
export function reasonNow(quota: QuotaRecord, now: number): string | null {
  const { exhaustion_reason: reason } = quota;
  const isPassing = reason?.startsWith("concurrency") || reason?.startsWith("tasks_per_minute");
  return isPassing && exhausted(quota, toStart, now) === null ? null : reason;
}

/** What a task must find left to be worth starting: the least there is of everything that it may come to use. */
export const toStart: Amounts = {
  concurrency: 1,
  tasks: 1,
  tasks_per_minute: 1,
  input_tokens: 1,
  output_tokens: 1,
  usd: 1e-8,
  tool_calls: 1,
  wall_time_ms: 1,
};

function retryAfter(quota: QuotaRecord, limit: LimitName, now: number): number | null {
  if (limit === "concurrency") return 1000;
  if (limit === "tasks_per_minute") return Date.parse(minuteOf(quota, now).since) + minuteMs - now;
  return quota.reset_at === null ? null : Math.max(0, Date.parse(quota.reset_at) - now);
}
