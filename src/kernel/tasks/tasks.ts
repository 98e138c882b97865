/** The moves of a task, shared by commands and runtime: each emits the status change and the event that names it. */

import type { JsonValue } from "../../store/port.ts";
import type { EventPayloads } from "../core/events.ts";
import type { Unit } from "../core/unit.ts";
import { abandonHandoff } from "../handoffs/handoffs.ts";
import type { MessageInput, MessageRecord, Part } from "../kinds/message.ts";
import type { Failure, Outcome } from "../kinds/outcome.ts";
import type { PermissionResponse } from "../kinds/permission-request.ts";
import type { SessionRecord } from "../kinds/session.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { budgetLimit, releaseTask } from "../quotas/ledger.ts";
import { newReceiptId, taskReceiptId } from "../receipts/ids.ts";
import { assertMove, isFinal, mayMove, type TaskStatus } from "./lifecycle.ts";

/** A summary is a sentence for a list, not the result itself. */
const summaryCharsMax = 280;

export function moveTask(
  unit: Unit,
  task: TaskRecord,
  to: TaskStatus,
  reason: string | null = null,
): TaskRecord {
  assertMove(task.id, task.status, to);
  return unit.emit(task, "task.status_changed", { from: task.status, to, reason });
}

/** Appends a message to a session, on behalf of a task or of nobody. */
export function appendMessage(
  unit: Unit,
  to: { session: Pick<SessionRecord, "id" | "workspace_id">; taskId: string | null },
  input: MessageInput,
  step?: string,
): MessageRecord {
  const message: MessageRecord = {
    ...unit.envelope("message", "msg"),
    metadata: input.metadata ?? {},
    workspace_id: to.session.workspace_id,
    session_id: to.session.id,
    task_id: to.taskId,
    role: input.role,
    parts: unit.seal(input.parts),
    ...(unit.mark === null ? {} : { is_replayed: true as const }),
  };
  const payload = step === undefined ? { message } : { message, step };
  const appended = unit.emit(message, messageEvent[input.role], payload);
  // A replay says again what was said; nothing new refers to anything.
  if (unit.mark === null) linkArtifacts(unit, message, input.parts);
  return appended;
}

function linkArtifacts(unit: Unit, { id, session_id }: MessageRecord, parts: readonly Part[]): void {
  const named = parts.flatMap((part) => ("artifact_id" in part ? [part.artifact_id] : []));
  for (const artifact of named.length === 0 ? [] : unit.findAll("artifact", [...new Set(named)])) {
    unit.emit(artifact, "artifact.linked", { artifact_id: artifact.id, message_id: id, session_id });
  }
}

const messageEvent = {
  user: "user.message",
  assistant: "agent.message",
  agent: "agent.message",
  system: "vendor.bridle.message",
  tool: "vendor.bridle.message",
} as const satisfies Record<MessageInput["role"], keyof EventPayloads>;

export type Ending =
  | { status: "COMPLETED"; summary: string; messageIds: string[]; output: JsonValue }
  | { status: "FAILED"; failure: Failure }
  | { status: "CANCELED"; reason: string | null };

/** Ends a task for good, with its outcome, and hands the result to a parent that waits for it. */
export function endTask(unit: Unit, task: TaskRecord, given: Ending): TaskRecord {
  // A summary is cut, and nothing may be cut in two before it is taken out.
  const ending = unit.redactor.value(given);
  // A run can go on without the answer it asked for (it raced the question against a timer, say).
  const able = mayMove(task.status, ending.status)
    ? task
    : moveTask(unit, task, "WORKING", "no longer waits");
  withdrawPermission(unit, task, "canceled", `The task is ${ending.status}.`);
  for (const id of task.handoff_ids ?? []) abandonHandoff(unit, id);
  const receiptId = taskReceiptId(unit, able, { failure: null, ...ending });
  const budget = receiptId === null ? undefined : budgetLimit(unit, task);
  releaseTask(unit, task, receiptId);
  const outcome: Outcome = {
    status: ending.status === "COMPLETED" ? "SUCCEEDED" : ending.status,
    summary: summarize(ending),
    message_ids: ending.status === "COMPLETED" ? ending.messageIds : [],
    receipt_id: receiptId,
  };
  resolveParentStep(unit, task, outcome, ending.status === "COMPLETED" ? ending.output : null);
  const moved = moveTask(unit, able, ending.status, "reason" in ending ? ending.reason : null);
  const ended = { outcome, ...(budget === undefined ? {} : { budget }) };
  switch (ending.status) {
    case "COMPLETED":
      return unit.emit(moved, "task.completed", ended);
    case "FAILED":
      return unit.emit(moved, "task.failed", { ...ended, failure: ending.failure });
    case "CANCELED":
      return unit.emit(moved, "task.canceled", { ...ended, reason: ending.reason });
  }
}

/** Nobody can answer any more what the task no longer waits for: the request is closed as denied. */
export function withdrawPermission(
  unit: Unit,
  task: TaskRecord,
  decision: "timeout" | "canceled",
  reason: string,
): void {
  const requestId = task.pending?.permission_request_id;
  const request = requestId == null ? undefined : unit.find("permission_request", requestId);
  if (request?.status !== "pending") return;
  const response = unit.redactor.value<PermissionResponse>({
    approved: false,
    decision,
    reason,
    reviewer: null,
    decided_by: "system",
    decided_at: unit.at,
  });
  unit.emit(request, "tool.denied", { response, receipt_id: newReceiptId(unit, task) });
}

export function summarize(ending: Ending): string {
  switch (ending.status) {
    case "COMPLETED":
      return shorten(ending.summary);
    case "FAILED":
      return shorten(ending.failure.message);
    case "CANCELED":
      return shorten(ending.reason === null ? "Canceled." : `Canceled: ${ending.reason}`);
  }
}

function shorten(text: string): string {
  return text.length <= summaryCharsMax ? text : `${text.slice(0, summaryCharsMax - 1)}…`;
}

function resolveParentStep(unit: Unit, task: TaskRecord, outcome: Outcome, output: JsonValue): void {
  if (task.parent_task_id === null || task.parent_step === null) return;
  // Whoever ended the child may not see its parent, which has to hear of it all the same.
  const parent = unit.findAsSystem("task", task.parent_task_id);
  if (parent === undefined || isFinal(parent.status)) return;
  const { status, summary, receipt_id } = outcome;
  unit.emit(parent, "span.completed", {
    step: task.parent_step,
    kind: "spawn",
    name: task.agent.name,
    result: { output: unit.seal<JsonValue>({ task_id: task.id, status, summary, output }) },
    child: { status, receipt_id },
  });
}
