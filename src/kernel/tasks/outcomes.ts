/** Outcomes: the tasks that have ended, seen from their end. */

import type { Caller } from "../../policy/caller.ts";
import type { Receipt } from "../../receipts/schema.ts";
import { requireScope } from "../access/authorize.ts";
import { noteContentRead, placeOf } from "../audit/content-reads.ts";
import { notFound } from "../core/errors.ts";
import { findVisible, type ListRequest, listDocuments, type Page } from "../core/read.ts";
import type { KernelDeps } from "../core/unit.ts";
import { taskIdOf } from "../kinds/outcome.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { type ReceiptDeps, receiptSoon } from "../receipts/read-receipts.ts";
import { isFinal, type TaskStatus, taskTransitions } from "./lifecycle.ts";
import { noteTaskRead } from "./read-tasks.ts";

const ended = (Object.keys(taskTransitions) as TaskStatus[]).filter(isFinal);

/** What a task did and used, as its receipt says it; null where there is none. Times are known of every task. */
export interface OutcomeFacts {
  handoffs: Receipt["side_effects"]["a2a_handoffs"] | null;
  cost: Receipt["cost"] | null;
  metrics: Record<string, number>;
}

export async function outcomeFacts(
  deps: ReceiptDeps,
  caller: Caller,
  task: TaskRecord,
): Promise<OutcomeFacts> {
  const receiptId = task.outcome?.receipt_id ?? null;
  const receipt = receiptId === null ? null : await receiptSoon(deps, caller.tenantId, receiptId);
  return {
    handoffs: receipt?.side_effects.a2a_handoffs ?? null,
    cost: receipt?.cost ?? null,
    metrics: { ...timesOf(task), ...receipt?.autonomy_budget.consumed },
  };
}

function timesOf({ created_at, started_at, completed_at, canceled_at, updated_at }: TaskRecord) {
  const end = Date.parse(completed_at ?? canceled_at ?? updated_at);
  const start = started_at === null ? end : Date.parse(started_at);
  return {
    queued_ms: Math.max(0, start - Date.parse(created_at)),
    duration_ms: Math.max(0, end - start),
  };
}

export async function getOutcome(deps: KernelDeps, caller: Caller, id: string): Promise<TaskRecord> {
  requireScope(caller, "outcomes:read");
  const task = id.startsWith("outcome_")
    ? await findVisible(deps.store, caller, "task", taskIdOf(id))
    : undefined;
  if (task === undefined || task.outcome === null) throw notFound("outcome", id);
  await noteTaskRead(deps, caller, task);
  return task;
}

/** Newest task first; of one task, its only one. */
export async function listOutcomes(
  deps: KernelDeps,
  caller: Caller,
  request: ListRequest,
): Promise<Page<TaskRecord>> {
  requireScope(caller, "outcomes:read");
  const { taskId, ...rest } = request;
  if (taskId === undefined) {
    const page = await listDocuments(deps, caller, "task", rest, ended);
    if (page.data.length > 0) await noteContentRead(deps, caller, placeOf(caller, rest), "tasks");
    return page;
  }
  const task = await findVisible(deps.store, caller, "task", taskId);
  const matches =
    task !== undefined &&
    task.outcome !== null &&
    (rest.workspaceId === undefined || rest.workspaceId === task.workspace_id);
  if (matches) await noteTaskRead(deps, caller, task);
  return { data: matches ? [task] : [], nextCursor: null };
}
