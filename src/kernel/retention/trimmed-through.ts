/** Up to where a part of the log is no longer whole: what a reader asks before it goes on from a cursor. */

import type { Position, TenantStore } from "../../store/port.ts";
import { positionOf } from "../core/events.ts";
import type { SessionRecord } from "../kinds/session.ts";
import type { TaskRecord } from "../kinds/task.ts";
import type { TenantRecord } from "../kinds/tenant.ts";
import type { WorkspaceRecord } from "../kinds/workspace.ts";

export interface LogPart {
  workspaceIds?: readonly string[] | undefined;
  sessionId?: string | undefined;
  taskId?: string | undefined;
}

/** The position of the last event of this part that has left; 0 when none has. The narrowest part counts. */
export async function trimmedThrough(store: TenantStore, part: LogPart): Promise<Position> {
  if (part.taskId !== undefined) {
    const task = (await store.get("task", part.taskId))?.body as TaskRecord | undefined;
    return toPosition(task?.trimmed?.through_event_id);
  }
  if (part.sessionId !== undefined) {
    const session = (await store.get("session", part.sessionId))?.body as SessionRecord | undefined;
    return toPosition(session?.trimmed_through_event_id);
  }
  if (part.workspaceIds !== undefined) {
    const found = await Promise.all(part.workspaceIds.map((id) => store.get("workspace", id)));
    const workspaces = found.map((document) => document?.body as WorkspaceRecord | undefined);
    return Math.max(0, ...workspaces.map((workspace) => toPosition(workspace?.trimmed_through_event_id)));
  }
  const tenant = (await store.get("tenant", store.tenantId))?.body as TenantRecord | undefined;
  return toPosition(tenant?.trimmed_through_event_id);
}

function toPosition(id: string | undefined): Position {
  return id === undefined ? 0 : positionOf(id, "after_event_id");
}
