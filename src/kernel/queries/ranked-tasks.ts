/** Tasks in the order in which their status changed last, the newest first, as far as the caller may see them. */

import type { Caller } from "../../policy/caller.ts";
import type { RankedQuery } from "../../store/port.ts";
import { requireScope } from "../authorize.ts";
import type { TaskRecord } from "../resources/task.ts";
import { findVisible, type ReadDeps } from "./read.ts";

export interface RankedTasksRequest {
  sessionId?: string | undefined;
  /** Only tasks of this agent. */
  agent?: string | undefined;
  status?: string | undefined;
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
  { store }: ReadDeps,
  caller: Caller,
  request: RankedTasksRequest,
): Promise<RankedTasks> {
  requireScope(caller, "tasks:read");
  const { sessionId, agent, status, from, beyond, limit } = request;
  const none = { tasks: [], total: 0, next: null };
  if (sessionId !== undefined && (await findVisible(store, caller, "session", sessionId)) === undefined)
    return none;
  const { documents, total } = await store.ranked({
    kind: "task",
    tenantId: caller.tenantId,
    workspaceIds: caller.workspaceIds ?? undefined,
    sessionId,
    label: agent,
    statuses: status === undefined ? undefined : [status],
    rankFrom: from,
    beyond,
    limit: limit + 1,
  });
  const page = documents.slice(0, limit);
  const last = page.at(-1);
  return {
    tasks: page.map(({ body }) => body as TaskRecord),
    total,
    next: documents.length > limit && last !== undefined ? { rank: last.rank, id: last.id } : null,
  };
}
