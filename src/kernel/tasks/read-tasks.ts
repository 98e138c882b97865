/** Tasks for those who ask for them. What administrators read of others' tasks is in the audit log. */

import { type Caller, mayUse } from "../../policy/caller.ts";
import { noteContentRead, placeOf } from "../audit/content-reads.ts";
import { getRecord, listRecords, type Page } from "../core/read.ts";
import type { KernelDeps } from "../core/unit.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { type ChangedTasksRequest, listChanged } from "./ranked-tasks.ts";

export async function readTask(deps: KernelDeps, caller: Caller, id: string): Promise<TaskRecord> {
  const task = await getRecord(deps, caller, "task", id);
  await noteTaskRead(deps, caller, task);
  return task;
}

/** Newest first. With a status, an agent or a time, those whose status changed last come first. */
export async function listTasks(
  deps: KernelDeps,
  caller: Caller,
  request: ChangedTasksRequest,
): Promise<Page<TaskRecord>> {
  const { status, agent, since, ...filters } = request;
  if (status !== undefined || agent !== undefined || since !== undefined) {
    return await listChanged(deps, caller, request);
  }
  const page = await listRecords(deps, caller, "task", filters);
  if (page.data.length > 0) await noteContentRead(deps, caller, placeOf(caller, filters), "tasks");
  return page;
}

/** Whoever began a task has what is in it; a replay or retry has what was said to another. */
export function mayReadTask(caller: Caller, { submitter, replay, retry_of }: TaskRecord): boolean {
  if (mayUse(caller, "tasks:read")) return true;
  const isOfOther = replay !== null || retry_of !== undefined;
  return !isOfOther && submitter?.actor === caller.actor && submitter.key_id === caller.keyId;
}

/** Its session stands for it, as for everything else that was read there. */
export async function noteTaskRead(deps: KernelDeps, caller: Caller, task: TaskRecord): Promise<void> {
  await noteContentRead(deps, caller, { kind: "session", id: task.session_id }, "tasks");
}
