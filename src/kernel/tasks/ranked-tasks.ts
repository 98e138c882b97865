/** Tasks in the order in which their status changed last, the newest first, as far as the caller may see them. */

import type { Caller } from "../../policy/caller.ts";
import type { RankedQuery } from "../../store/port.ts";
import { isVisible, requireScope } from "../access/authorize.ts";
import { noteContentRead, placeOf } from "../audit/content-reads.ts";
import { decodeCursor, encodeCursor } from "../core/cursor.ts";
import { findVisible, type ListRequest, type Page, pageSizeDefault } from "../core/read.ts";
import type { KernelDeps } from "../core/unit.ts";
import type { TaskRecord } from "../kinds/task.ts";

export interface RankedTasksRequest {
  workspaceId?: string | undefined;
  sessionId?: string | undefined;
  /** Only tasks of this agent. */
  agent?: string | undefined;
  statuses?: readonly string[] | undefined;
  /** Only tasks whose status changed at this time or later, in milliseconds since 1970. */
  from?: number | undefined;
  beyond?: RankedQuery["beyond"];
  limit: number;
}

export interface RankedTasks {
  tasks: TaskRecord[];
  /** How many there are in all. */
  total: number;
  /** Where the next page begins; null after the last. */
  next: { rank: number; id: string } | null;
}

export async function rankedTasks(
  deps: KernelDeps,
  caller: Caller,
  request: RankedTasksRequest,
): Promise<RankedTasks> {
  requireScope(caller, "tasks:read");
  const { store } = deps;
  const { workspaceId, sessionId, agent, statuses, from, beyond, limit } = request;
  const none = { tasks: [], total: 0, next: null };
  if (sessionId !== undefined && (await findVisible(store, caller, "session", sessionId)) === undefined)
    return none;
  if (workspaceId !== undefined && (await findVisible(store, caller, "workspace", workspaceId)) === undefined)
    return none;
  const { documents, total } = await store.of(caller.tenantId).ranked({
    kind: "task",
    workspaceIds: workspaceId === undefined ? (caller.workspaceIds ?? undefined) : [workspaceId],
    sessionId,
    label: agent,
    statuses,
    rankFrom: from,
    beyond,
    limit: limit + 1,
  });
  const page = documents.slice(0, limit);
  const last = page.at(-1);
  const tasks = page.map(({ body }) => body as TaskRecord).filter((task) => isVisible(caller, task));
  if (tasks.length > 0) await noteContentRead(deps, caller, placeOf(caller, request), "tasks");
  return {
    tasks,
    total,
    next: documents.length > limit && last !== undefined ? { rank: last.rank, id: last.id } : null,
  };
}

export interface ChangedTasksRequest extends ListRequest {
  status?: string | undefined;
  agent?: string | undefined;
  /** Only tasks whose status changed then or later. */
  since?: string | undefined;
}

/** A page of the same, by the protocol's names of states: what was rejected has failed. */
export async function listChanged(
  deps: KernelDeps,
  caller: Caller,
  { status, since, cursor, limit = pageSizeDefault, ...filters }: ChangedTasksRequest,
): Promise<Page<TaskRecord>> {
  const point = cursor === undefined ? undefined : decodeCursor(changedList, cursor);
  const { tasks, next } = await rankedTasks(deps, caller, {
    ...filters,
    statuses: status === undefined ? undefined : status === "FAILED" ? ["FAILED", "REJECTED"] : [status],
    from: since === undefined ? undefined : Date.parse(since),
    beyond: point === undefined ? undefined : { rank: point.born, id: point.id },
    limit,
  });
  const nextCursor = next === null ? null : encodeCursor(changedList, { born: next.rank, id: next.id });
  return { data: tasks, nextCursor };
}

const changedList = "changed_task";
