/** Permission requests of the tasks that the caller may see. */

import type { Caller } from "../../policy/caller.ts";
import type { PermissionRequestRecord } from "../resources/permission-request.ts";
import { findVisible, type ListRequest, listRecords, type Page, type ReadDeps } from "./read.ts";

/** A page may be shorter than was asked for, or empty, and have a next page. */
export async function listPermissionRequests(
  deps: ReadDeps,
  caller: Caller,
  request: ListRequest,
): Promise<Page<PermissionRequestRecord>> {
  const { data, nextCursor } = await listRecords(deps, caller, "permission_request", request);
  const taskIds = [...new Set(data.map(({ task_id }) => task_id))];
  const tasks = await Promise.all(taskIds.map((id) => findVisible(deps.store, caller, "task", id)));
  const seen = new Set(tasks.map((task) => task?.id));
  return { data: data.filter(({ task_id }) => seen.has(task_id)), nextCursor };
}
