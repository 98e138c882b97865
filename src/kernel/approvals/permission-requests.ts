/** Permission requests of the tasks that the caller may see. */

import type { Caller } from "../../policy/caller.ts";
import { noteContentRead, placeOf } from "../audit/content-reads.ts";
import { findVisible, type ListRequest, listRecords, type Page } from "../core/read.ts";
import type { KernelDeps } from "../core/unit.ts";
import type { PermissionRequestRecord } from "../kinds/permission-request.ts";

/** A page may be shorter than was asked for, or empty, and have a next page. */
export async function listPermissionRequests(
  deps: KernelDeps,
  caller: Caller,
  request: ListRequest,
): Promise<Page<PermissionRequestRecord>> {
  const { data, nextCursor } = await listRecords(deps, caller, "permission_request", request);
  const taskIds = [...new Set(data.map(({ task_id }) => task_id))];
  const tasks = await Promise.all(taskIds.map((id) => findVisible(deps.store, caller, "task", id)));
  const seen = new Set(tasks.map((task) => task?.id));
  const shown = data.filter(({ task_id }) => seen.has(task_id));
  const [first] = shown;
  if (first !== undefined) {
    const sessionId = request.taskId === undefined ? request.sessionId : first.session_id;
    await noteContentRead(deps, caller, placeOf(caller, { ...request, sessionId }), "tasks");
  }
  return { data: shown, nextCursor };
}
