/** Which events call for a receipt, and under which id. It is decided with the event, so that everybody can name it at once. */

import type { Position, StoredEvent } from "../../store/port.ts";
import { asRecorded, type RecordedEvent, terminalEvents } from "../core/events.ts";
import type { Failure } from "../kinds/outcome.ts";

/** How a task ended, as far as its receipt tells it. */
export interface ReceiptedEnding {
  status: "COMPLETED" | "FAILED" | "CANCELED";
  failure: Failure | null;
}

export type Ended = Extract<RecordedEvent, { event: "task.completed" | "task.failed" | "task.canceled" }>;
export type Requested = Extract<RecordedEvent, { event: "vendor.bridle.receipt.requested" }>;
export type Decided = Extract<RecordedEvent, { event: "tool.approved" | "tool.denied" }>;

/** A receipt that an event calls for, as it is said across threads: the event is in the log. */
export interface DueReceipt {
  receiptId: string;
  /** Whether the task ended, somebody decided about a permission, or somebody asked for the receipt of a part. */
  kind: "ended" | "decided" | "requested";
  tenantId: string;
  taskId: string;
  /** Where the event is. */
  position: Position;
}

/** What is copied in a replay, or came with another server's log, has its receipt elsewhere. */
export function dueReceipt(stored: StoredEvent): DueReceipt | null {
  const event = asRecorded(stored);
  const isOver = isEnded(event);
  if (!isOver && !isDecided(event) && !isRequested(event)) return null;
  const receiptId = isOver ? event.payload.outcome.receipt_id : event.payload.receipt_id;
  const { tenantId, taskId, position, replay, imported } = event;
  const isElsewhere = replay?.is_copy === true || imported !== undefined;
  if (isElsewhere || receiptId === null || taskId === null) return null;
  const kind = isOver ? "ended" : isRequested(event) ? "requested" : "decided";
  return { receiptId, kind, tenantId, taskId, position };
}

export function isEnded(event: RecordedEvent): event is Ended {
  return terminalEvents.has(event.event);
}

export function isDecided(event: RecordedEvent): event is Decided {
  return event.event === "tool.approved" || event.event === "tool.denied";
}

export function isRequested(event: RecordedEvent): event is Requested {
  return event.event === "vendor.bridle.receipt.requested";
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
