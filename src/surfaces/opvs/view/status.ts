/** Where a task stands, in the protocol's words. */

import type {
  MessageJson,
  TaskStateJson,
  TaskStatusJson,
} from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { listedStatus, type PendingRequest, type TaskRecord } from "../../../kernel/kinds/task.ts";
import { contextIdOf } from "../../../kernel/sessions/send-message.ts";

export function stateOf(task: TaskRecord): TaskStateJson {
  return `TASK_STATE_${listedStatus(task)}`;
}

export function statusJson(task: TaskRecord): TaskStatusJson {
  const message = explanationOf(task);
  return {
    state: stateOf(task),
    ...(message === null ? {} : { message }),
    timestamp: task.status_at,
  };
}

/** What a task has to say about where it stands: the question that it waits with, or why it did not succeed. */
function explanationOf(task: TaskRecord): MessageJson | null {
  if (task.pending !== null) return questionOf(task, task.pending);
  if (task.failure !== null) {
    const { code, message } = task.failure;
    return agentMessage(task, "failure", message, { code });
  }
  return task.status === "CANCELED" && task.outcome !== null
    ? agentMessage(task, "canceled", task.outcome.summary)
    : null;
}

function questionOf(task: TaskRecord, pending: PendingRequest): MessageJson {
  const { kind, prompt, schema, permission_request_id, expires_at, step } = pending;
  const message = agentMessage(task, step, prompt, {
    expiresAt: expires_at,
    ...(permission_request_id === null ? {} : { permissionRequestId: permission_request_id }),
  });
  if (kind === "approval" || schema === null) return message;
  const form = { data: schema, mediaType: "application/schema+json" };
  return { ...message, parts: [...(message.parts ?? []), form] };
}

/** A message that is not in the transcript. Its id is the same whenever it is said. */
export function agentMessage(
  task: TaskRecord,
  about: string,
  text: string,
  metadata?: Record<string, string | number>,
): MessageJson {
  return {
    messageId: `${task.id}:${about}`,
    contextId: contextIdOf(task),
    taskId: task.id,
    role: "ROLE_AGENT",
    parts: [{ text }],
    ...(metadata === undefined ? {} : { metadata }),
  };
}
