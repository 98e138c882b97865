/** Which events call for a receipt, and under which id. It is decided with the event, so that everybody can name it at once. */

import type { RecordedEvent } from "../events.ts";
import type { Failure } from "../resources/outcome.ts";

/** How a task ended, as far as its receipt tells it. */
export interface ReceiptedEnding {
  status: "COMPLETED" | "FAILED" | "CANCELED";
  failure: Failure | null;
}

export type Ended = Extract<RecordedEvent, { event: "task.completed" | "task.failed" | "task.canceled" }>;
export type Decided = Extract<RecordedEvent, { event: "tool.approved" | "tool.denied" }>;

/** An event with a receipt that is about it. */
export type DueEvent = { receiptId: string } & (
  | { kind: "ended"; event: Ended }
  | { kind: "decided"; event: Decided }
);

/** What is copied in a replay, or came with another server's log, has its receipt elsewhere. */
export function dueReceipt(event: RecordedEvent): DueEvent | null {
  if (event.replay?.is_copy === true || event.imported !== undefined) return null;
  switch (event.event) {
    case "task.completed":
    case "task.failed":
    case "task.canceled": {
      const { receipt_id } = event.payload.outcome;
      return receipt_id === null ? null : { receiptId: receipt_id, kind: "ended", event };
    }
    case "tool.approved":
    case "tool.denied": {
      const { receipt_id } = event.payload;
      return receipt_id === null ? null : { receiptId: receipt_id, kind: "decided", event };
    }
    default:
      return null;
  }
}

export function endingOf(event: Ended): ReceiptedEnding {
  switch (event.event) {
    case "task.completed":
      return { status: "COMPLETED", failure: null };
    case "task.failed":
      return { status: "FAILED", failure: event.payload.failure };
    case "task.canceled":
      return { status: "CANCELED", failure: null };
  }
}
