/**
 * Ask for the receipt of one thing that a task did: its outcome, one of its events, an artifact, a tool call. The same thing has the same
 * receipt, however often somebody asks.
 */

import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { type RequestedSubject, receiptIdOf } from "./subjects.ts";

export interface RequestReceipt {
  subject: RequestedSubject;
  /** The task that the subject belongs to. */
  taskId: string;
}

export const requestReceipt: Command<RequestReceipt, { receiptId: string; isNew: boolean }> = {
  name: "request_receipt",
  scope: "receipts:write",
  decide(unit, { subject: { object, id }, taskId }) {
    const subject = { object, id };
    const receiptId = receiptIdOf(taskId, subject);
    const task = unit.require("task", taskId);
    assertOwnLog(task);
    // The log would have something else in its place, and so would the receipt.
    if (unit.redactor.value(subject) !== subject) {
      throw new HarnessError("invalid_request", "The id looks like a secret; a receipt would have it.", {
        param: "subject.id",
      });
    }
    const existing = unit.find("receipt", receiptId);
    if (existing !== undefined) return { receiptId, isNew: false };
    if (task.policy.receipt_policy === "disabled") {
      throw new HarnessError("policy_violation", `The persona of task ${taskId} has receipts disabled.`, {
        param: "subject.id",
        details: { rule: "receipt_policy", task_id: taskId },
      });
    }
    unit.emit(task, "vendor.bridle.receipt.requested", { receipt_id: receiptId, subject });
    return { receiptId, isNew: true };
  },
};

/** A receipt is this server's word: for what it recorded itself, and while the log still has it. */
function assertOwnLog({ id, imported, trimmed }: TaskRecord): void {
  const problem =
    imported !== undefined
      ? "was imported. Ask the server that ran it; the receipts that came with it are listed with the task."
      : trimmed !== undefined
        ? "is too old: retention has removed its log."
        : null;
  if (problem === null) return;
  throw new HarnessError("conflict", `Task ${id} ${problem}`, { param: "subject.id" });
}
