/**
 * Send a message to a task. `input` answers the question it waits with; `tool_confirmation` answers its request for
 * permission; `interrupt` is put into the transcript for a run that looks there.
 */

import { requireScope } from "../access/authorize.ts";
import { decidePermission } from "../approvals/respond-permission-request.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { MessageInput, MessageRecord } from "../kinds/message.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { answerOf } from "./answers.ts";
import { isFinal } from "./lifecycle.ts";
import { appendMessage, moveTask } from "./tasks.ts";

export type TaskMessageKind = "input" | "interrupt" | "tool_confirmation";

export interface AppendTaskMessage {
  taskId: string;
  kind: TaskMessageKind;
  message: MessageInput;
}

export const appendTaskMessage: Command<AppendTaskMessage, MessageRecord> = {
  name: "append_task_message",
  scope: "messages:write",
  decide(unit, { taskId, kind, message }) {
    const task = unit.require("task", taskId);
    if (isFinal(task.status)) {
      throw new HarnessError(
        "invalid_state_transition",
        `Task ${task.id} is ${task.status} and takes no more messages.`,
        { details: { task_id: task.id, status: task.status } },
      );
    }
    switch (kind) {
      case "input":
        return answerQuestion(unit, task, message);
      case "tool_confirmation":
        return confirm(unit, task, message);
      case "interrupt":
        return append(unit, task, message);
    }
  },
};

function append(unit: Unit, task: TaskRecord, message: MessageInput): MessageRecord {
  const session = { id: task.session_id, workspace_id: task.workspace_id };
  return appendMessage(unit, { session, taskId: task.id }, message);
}

function answerQuestion(unit: Unit, task: TaskRecord, input: MessageInput): MessageRecord {
  if (task.pending?.kind !== "input") throw notWaiting(task, "input");
  // Bad answers are refused here, while the one who gave them is still on the line.
  answerOf(input.parts, task.pending.schema);
  const message = append(unit, task, input);
  const answered = unit.emit(task, "user.input_submitted", {
    step: task.pending.step,
    message_id: message.id,
  });
  moveTask(unit, answered, "WORKING", "input submitted");
  return message;
}

function confirm(unit: Unit, task: TaskRecord, input: MessageInput): MessageRecord {
  const requestId = task.pending?.permission_request_id;
  if (requestId == null) throw notWaiting(task, "permission");
  requireScope(unit.caller, "approvals:write");
  const part = input.parts.find((candidate) => candidate.type === "json");
  const json = part?.value;
  if (
    typeof json !== "object" ||
    json === null ||
    Array.isArray(json) ||
    typeof json.approved !== "boolean"
  ) {
    throw new HarnessError(
      "invalid_request",
      'A tool confirmation needs a json part whose value is {"approved": true} or {"approved": false}.',
      { param: "message.parts" },
    );
  }
  const message = append(unit, task, input);
  // The decision is for everybody to see; what else an internal part says is not.
  const reason = part?.visibility === "public" && typeof json.reason === "string" ? json.reason : null;
  decidePermission(unit, { requestId, approved: json.approved, reason });
  return message;
}

function notWaiting(task: TaskRecord, what: string): HarnessError {
  return new HarnessError("conflict", `Task ${task.id} is ${task.status} and does not wait for ${what}.`, {
    details: { task_id: task.id, status: task.status },
  });
}
