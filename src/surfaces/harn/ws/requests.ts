/** `request` frames: what a task of the session waits for a person to say. */

import { readScope } from "../../../kernel/access/read-scopes.ts";
import { asKernelEvent } from "../../../kernel/core/events.ts";
import { listDocuments } from "../../../kernel/core/read.ts";
import type { PermissionRequestRecord } from "../../../kernel/kinds/permission-request.ts";
import type { TaskRecord } from "../../../kernel/kinds/task.ts";
import { mayUse } from "../../../policy/caller.ts";
import type { StoredEvent } from "../../../store/port.ts";
import { ownStore, presentPermissionRequest, type Viewer } from "../present.ts";

export interface RequestFrame {
  type: "request";
  request_id: string;
  kind: "input" | "authorization" | "host_tool";
  task_id: string;
  expires_at: string;
  [detail: string]: unknown;
}

const waiting = ["INPUT_REQUIRED", "AUTH_REQUIRED"];
const pageSize = 200;

/** Every question of the session that is open now, for those who may read its tasks. */
export async function* openRequests(viewer: Viewer, sessionId: string): AsyncGenerator<RequestFrame> {
  if (!mayUse(viewer.caller, readScope.task)) return;
  let cursor: string | undefined;
  do {
    const request = { sessionId, cursor, limit: pageSize };
    const page = await listDocuments(viewer, viewer.caller, "task", request, waiting);
    for (const task of page.data) {
      const frame = await requestOf(task, viewer);
      if (frame !== null) yield frame;
    }
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

/** The question that an event asks, unless it has been answered by now. A replay's copy of a question asks nobody. */
export async function requestIn(stored: StoredEvent, viewer: Viewer): Promise<RequestFrame | null> {
  const event = asKernelEvent(stored);
  if (event.event !== "task.input_required" && event.event !== "task.auth_required") return null;
  if (event.replay !== undefined) return null;
  const document = await ownStore(viewer).get("task", event.resource.id);
  const task = document?.body as TaskRecord | undefined;
  return task?.pending?.step === event.payload.request.step ? await requestOf(task, viewer) : null;
}

async function requestOf(task: TaskRecord, viewer: Viewer): Promise<RequestFrame | null> {
  const { pending } = task;
  if (pending === null) return null;
  const { prompt, step, schema, expires_at } = pending;
  const common = { type: "request", task_id: task.id, prompt, expires_at } as const;
  if (pending.kind === "input") {
    return { ...common, kind: "input", request_id: `${task.id}:${step}`, schema };
  }
  const document = await ownStore(viewer).get("permission_request", pending.permission_request_id ?? "");
  if (document === undefined) return null;
  const permission_request = presentPermissionRequest(document.body as PermissionRequestRecord);
  return { ...common, kind: "authorization", request_id: document.id, permission_request };
}
