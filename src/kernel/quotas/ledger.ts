/**
 * Counting against quotas, inside the commits of what is counted.
 *
 * Quotas are held (see `Unit.hold`) from the moment they are looked at until the commit is on disk, so that what is decided
 * under a limit is exact however many decide at once. They come after tasks, in the order of their ids; a decision that
 * comes to them in another order is made again (see `OutOfTurn`).
 */

import type { Unit } from "../core/unit.ts";
import {
  type Amounts,
  type Budget,
  type QuotaExhausted,
  type QuotaRecord,
  reservationKey,
} from "../kinds/quota.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { defaultTenantId } from "../workspaces/ensure-tenant.ts";
import { current, type Exhaustion, exhausted, isResetDue, minuteOf, nextReset, toStart } from "./limits.ts";
import { QuotaRefusal } from "./refusal.ts";

/** A hard limit that stands in the way. */
export interface Obstacle extends Exhaustion {
  quota: QuotaRecord;
}

/** Admits a new task, or throws what its caller is told. */
export function admitTask(unit: Unit, quotaIds: readonly string[], taskId: string): void {
  const now = Date.parse(unit.at);
  const quotas = holdQuotas(unit, quotaIds);
  for (const quota of quotas) {
    const exhaustion = exhausted(quota, toStart, now);
    if (exhaustion !== null && quota.hard_limit) throw new QuotaRefusal(unit, { ...exhaustion, quota });
  }
  for (const quota of quotas) {
    const { since, tasks } = minuteOf(quota, now);
    const exhaustion = exhausted(quota, toStart, now);
    const admitted = unit.emit(quota, "vendor.bridle.quota.task_admitted", {
      task_id: taskId,
      minute: { since, tasks: tasks + 1 },
    });
    if (exhaustion !== null) tellExhausted(unit, admitted, exhaustion, taskId);
    else if (admitted.exhaustion_reason !== null) unit.emit(admitted, "vendor.bridle.quota.recovered", {});
  }
}

/** Reserves what a step is about to use; gives the limit that is in the way, if there is one, and reserves nothing then. */
export function reserve(
  unit: Unit,
  task: TaskRecord,
  step: string,
  amounts: Amounts,
  /** Whether what is only held up is waited for: then there is nothing to tell. */
  isPatient = false,
): Obstacle | null {
  const now = Date.parse(unit.at);
  const key = reservationKey(task.id, step);
  const asked = { ...amounts, wall_time_ms: elapsedMs(task, now) };
  const quotas = holdQuotas(unit, task.quota_ids).filter(({ open }) => open[key] === undefined);
  for (const quota of quotas) {
    const exhaustion = exhausted(quota, asked, now);
    if (exhaustion === null) continue;
    const isInTheWay = quota.hard_limit && !task.granted_quota_ids.includes(quota.id);
    if (isPatient && isInTheWay && exhaustion.isHeld) return { ...exhaustion, quota };
    tellExhausted(unit, quota, exhaustion, task.id);
    if (isInTheWay) {
      tellTask(unit, task, quota, exhaustion);
      return { ...exhaustion, quota };
    }
  }
  for (const quota of quotas) unit.emit(quota, "vendor.bridle.quota.reserved", { key, amounts });
  return null;
}

/** The step is recorded in this commit: what it used is counted for good. */
export function settle(unit: Unit, task: TaskRecord, step: string, amounts: Amounts): void {
  const key = reservationKey(task.id, step);
  for (const quota of holdQuotas(unit, task.quota_ids)) {
    if (quota.open[key] !== undefined) unit.emit(quota, "vendor.bridle.quota.settled", { key, amounts });
  }
}

/** The task ends in this commit. */
export function releaseTask(unit: Unit, task: TaskRecord, receiptId: string | null): void {
  const amounts = { wall_time_ms: elapsedMs(task, Date.parse(unit.at)) };
  for (const quota of holdQuotas(unit, task.quota_ids)) {
    unit.emit(quota, "vendor.bridle.quota.task_ended", { task_id: task.id, amounts, receipt_id: receiptId });
  }
}

/** The least of what each quota allows, as a receipt tells it. */
export function budgetLimit(unit: Unit, task: TaskRecord): Budget | undefined {
  const quotas = holdQuotas(unit, task.quota_ids);
  if (quotas.length === 0) return undefined;
  const least = (name: keyof Budget): Budget => {
    const limits = quotas.flatMap(({ limits: { [name]: most } }) => most ?? []);
    return limits.length === 0 ? {} : { [name]: Math.min(...limits) };
  };
  return {
    ...least("usd"),
    ...least("input_tokens"),
    ...least("output_tokens"),
    ...least("tool_calls"),
    ...least("wall_time_ms"),
  };
}

function elapsedMs({ started_at }: TaskRecord, now: number): number {
  return started_at === null ? 0 : Math.max(0, now - Date.parse(started_at));
}

/** A quota of the tenant, or one of the organization, which is the server's. */
function findQuota(unit: Unit, id: string): QuotaRecord | undefined {
  return unit.findAsSystem("quota", id) ?? unit.findAsSystem("quota", id, defaultTenantId);
}

/** The quotas as they are now, held until the commit. One that was deleted counts no more. */
function holdQuotas(unit: Unit, ids: readonly string[]): QuotaRecord[] {
  const now = Date.parse(unit.at);
  const quotas: QuotaRecord[] = [];
  const inOrder = [...ids].sort();
  unit.hold(...inOrder);
  unit.prefetch(inOrder.map((id) => ({ kind: "quota", id })));
  for (const id of inOrder) {
    const quota = findQuota(unit, id);
    if (quota === undefined || quota.deleted_at !== null) continue;
    quotas.push(
      isResetDue(quota, now)
        ? unit.emit(quota, "vendor.bridle.quota.reset", { next: nextReset(quota, now) })
        : quota,
    );
  }
  return quotas;
}

/** Said once, until the quota has room again. */
function tellExhausted(unit: Unit, quota: QuotaRecord, exhaustion: Exhaustion, taskId: string | null): void {
  if (quota.exhaustion_reason !== null) return;
  unit.emit(quota, "vendor.bridle.quota.exhausted", exhaustionPayload(quota, exhaustion, taskId));
}

/** Once a quota: branches side by side come to the same limit together. */
function tellTask(unit: Unit, task: TaskRecord, quota: QuotaRecord, exhaustion: Exhaustion): void {
  if (task.exhausted_quota_ids.includes(quota.id)) return;
  unit.emit(task, "vendor.bridle.quota.exhausted", exhaustionPayload(quota, exhaustion, task.id));
}

function exhaustionPayload(
  quota: QuotaRecord,
  { limit, most, used }: Exhaustion,
  taskId: string | null,
): QuotaExhausted {
  return {
    quota_id: quota.id,
    scope: quota.scope,
    limit,
    most,
    used,
    is_hard: quota.hard_limit,
    reason: `${limit}: ${used} of ${most} used`,
    task_id: taskId,
  };
}

/** Somebody was refused: the quota says so, once. */
export function noteRefusal(unit: Unit, quotaId: string): void {
  unit.hold(quotaId);
  const quota = findQuota(unit, quotaId);
  if (quota === undefined) return;
  const now = Date.parse(unit.at);
  const exhaustion = exhausted(current(quota, now), toStart, now);
  if (exhaustion !== null) tellExhausted(unit, quota, exhaustion, null);
}
