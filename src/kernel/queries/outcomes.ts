/** Outcomes: the tasks that have ended, seen from their end. */

import type { Caller } from "../../policy/caller.ts";
import { requireScope } from "../authorize.ts";
import { notFound } from "../errors.ts";
import { isFinal, type TaskStatus, taskTransitions } from "../lifecycle.ts";
import { taskIdOf } from "../resources/outcome.ts";
import type { TaskRecord } from "../resources/task.ts";
import { findVisible, type ListRequest, listDocuments, type Page, type ReadDeps } from "./read.ts";

const ended = (Object.keys(taskTransitions) as TaskStatus[]).filter(isFinal);

export async function getOutcome({ store }: ReadDeps, caller: Caller, id: string): Promise<TaskRecord> {
  requireScope(caller, "outcomes:read");
  const task = id.startsWith("outcome_") ? await findVisible(store, caller, "task", taskIdOf(id)) : undefined;
  if (task === undefined || task.outcome === null) throw notFound("outcome", id);
  return task;
}

/** Newest task first; of one task, its only one. */
export async function listOutcomes(
  deps: ReadDeps,
  caller: Caller,
  request: ListRequest,
): Promise<Page<TaskRecord>> {
  requireScope(caller, "outcomes:read");
  const { taskId, ...rest } = request;
  if (taskId === undefined) return await listDocuments(deps, caller, "task", rest, ended);
  const task = await findVisible(deps.store, caller, "task", taskId);
  const matches =
    task !== undefined &&
    task.outcome !== null &&
    (rest.workspaceId === undefined || rest.workspaceId === task.workspace_id);
  return { data: matches ? [task] : [], nextCursor: null };
}
