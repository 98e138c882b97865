/** Outcomes: the tasks that have ended, seen from their end. */

import type { Caller } from "../../policy/caller.ts";
import { requireScope } from "../access/authorize.ts";
import { noteContentRead, placeOf } from "../audit/content-reads.ts";
import { notFound } from "../core/errors.ts";
import { findVisible, type ListRequest, listDocuments, type Page } from "../core/read.ts";
import type { KernelDeps } from "../core/unit.ts";
import { taskIdOf } from "../kinds/outcome.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { isFinal, type TaskStatus, taskTransitions } from "./lifecycle.ts";
import { noteTaskRead } from "./read-tasks.ts";

const ended = (Object.keys(taskTransitions) as TaskStatus[]).filter(isFinal);

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
