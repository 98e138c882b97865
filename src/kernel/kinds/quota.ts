/**
 * A quota: ceilings, and the ledger of what counts against them.
 *
 * What a step is about to use is reserved under its key before it runs and settled in the commit that records its result.
 * A step that runs again after a crash finds its reservation; a result that is recorded is settled. So nothing is
 * counted twice and nothing is lost.
 */

import type { JsonObject } from "../../store/port.ts";
import type { KernelEvent } from "../core/events.ts";
import { type MembersOf, picked } from "./picked.ts";
import type { Resource } from "./resource.ts";

export const limitNames = [
  "concurrency",
  "tasks",
  "tasks_per_minute",
  "input_tokens",
  "output_tokens",
  "usd",
  "tool_calls",
  "wall_time_ms",
  "storage_bytes",
] as const;
export type LimitName = (typeof limitNames)[number];
export type Amounts = Partial<Record<LimitName, number>>;
/** The limits that a receipt tells of. */
export type Budget = Pick<Amounts, "usd" | "input_tokens" | "output_tokens" | "tool_calls" | "wall_time_ms">;

export const quotaScopes = ["persona", "workspace", "tenant", "organization"] as const;
export const resetWindows = ["minute", "hour", "day", "week", "month"] as const;
export type ResetWindow = (typeof resetWindows)[number];

export interface QuotaRecord extends Resource<"quota"> {
  scope: (typeof quotaScopes)[number];
  limits: Amounts;
  /** What was settled since the last reset. */
  usage: Amounts;
  /** False for a limit that is only watched: passing it is said, not refused. */
  hard_limit: boolean;
  /** What a task that comes to a hard limit does: end with its partial work kept, or ask a person whether to go on. */
  on_exhaustion: "end" | "ask";
  reset_window: ResetWindow | null;
  reset_at: string | null;
  exhaustion_reason: string | null;
  last_receipt_id: string | null;
  /** Tasks under way that count against it. */
  running: number;
  /** What is reserved and not settled, by task and step. */
  open: Record<string, Amounts>;
  /** The running minute of `tasks_per_minute`. */
  minute: { since: string; tasks: number } | null;
  deleted_at: string | null;
}

/** A limit was come to, as the quota and the task tell it. */
export interface QuotaExhausted {
  quota_id: string;
  scope: QuotaRecord["scope"];
  limit: LimitName;
  most: number;
  used: number;
  is_hard: boolean;
  reason: string;
  task_id: string | null;
}

export type QuotaChanges = Partial<
  Pick<QuotaRecord, "limits" | "hard_limit" | "on_exhaustion" | "reset_window" | "reset_at">
> & { metadata?: JsonObject };

const changeable: MembersOf<QuotaChanges> = {
  limits: true,
  hard_limit: true,
  on_exhaustion: true,
  reset_window: true,
  reset_at: true,
  metadata: true,
};

export function foldQuota(quota: QuotaRecord, event: KernelEvent): QuotaRecord {
  const at = event.createdAt;
  switch (event.event) {
    case "vendor.bridle.quota.updated":
      return {
        ...quota,
        ...picked(event.payload.changes, changeable),
        exhaustion_reason: null,
        updated_at: at,
      };
    case "vendor.bridle.quota.deleted":
      return { ...quota, deleted_at: at, updated_at: at };
    case "vendor.bridle.quota.reset":
      return { ...quota, usage: {}, exhaustion_reason: null, reset_at: event.payload.next, updated_at: at };
    case "vendor.bridle.quota.exhausted":
      return { ...quota, exhaustion_reason: event.payload.reason, updated_at: at };
    case "vendor.bridle.quota.recovered":
      return { ...quota, exhaustion_reason: null, updated_at: at };
    case "vendor.bridle.quota.task_admitted": {
      const { minute } = event.payload;
      const running = quota.running + 1;
      return { ...quota, running, minute, usage: plus(quota.usage, { tasks: 1 }), updated_at: at };
    }
    case "vendor.bridle.quota.task_ended": {
      const { task_id, amounts, receipt_id } = event.payload;
      const ofTask = Object.entries(quota.open).filter(([key]) => isOf(key, task_id));
      // What was under way may have been used: it is counted as it was reserved.
      const used = ofTask.map(([, reserved]) => reserved).reduce(plus, amounts);
      const open = Object.fromEntries(Object.entries(quota.open).filter(([key]) => !isOf(key, task_id)));
      return {
        ...quota,
        running: quota.running - 1,
        open,
        usage: plus(quota.usage, used),
        last_receipt_id: receipt_id ?? quota.last_receipt_id,
        updated_at: at,
      };
    }
    case "vendor.bridle.quota.reserved": {
      const { key, amounts } = event.payload;
      return { ...quota, open: { ...quota.open, [key]: amounts }, updated_at: at };
    }
    case "vendor.bridle.quota.settled": {
      const { [event.payload.key]: _, ...open } = quota.open;
      return { ...quota, open, usage: plus(quota.usage, event.payload.amounts), updated_at: at };
    }
    default:
      return quota;
  }
}

/** The name under which a step of a task reserves. */
export function reservationKey(taskId: string, step: string): string {
  return `${taskId}/${step}`;
}

function isOf(key: string, taskId: string): boolean {
  return key.startsWith(`${taskId}/`);
}

export function plus(one: Amounts, other: Amounts): Amounts {
  const sum: Amounts = { ...one };
  for (const name of limitNames) {
    const more = other[name];
    if (more !== undefined) sum[name] = rounded((sum[name] ?? 0) + more);
  }
  return sum;
}

/** Sums of money stay readable: a millionth of a cent is the least that is counted. */
export function rounded(amount: number): number {
  return Math.round(amount * 1e8) / 1e8;
}
