/** What the receipts in a log say must be true of it. */

import { isDeepStrictEqual } from "node:util";
import { receiptHash } from "../../../receipts/hash.ts";
import type { Approval, Receipt } from "../../../receipts/schema.ts";
import { nextSlice } from "../../../slices.ts";
import { blobBytes, unsealFrom } from "../../core/content.ts";
import type { HarnessError } from "../../core/errors.ts";
import { asKernelEvent, type KernelEvent } from "../../core/events.ts";
import type { Part } from "../../kinds/message.ts";
import type { Outcome } from "../../kinds/outcome.ts";
import type { ReceiptIssued } from "../../kinds/receipt.ts";
import { failureIn } from "../../receipts/drafts.ts";
import { TaskFacts } from "../../receipts/facts.ts";
import { summarize } from "../../tasks/tasks.ts";
import type { LogBundle } from "./bundle.ts";
import { asWritten, refused } from "./refused.ts";

/** What is parsed and hashed at once; the lists in a receipt are bounded where it is made. */
const receiptBytesMax = 512 * 1024;

/** What the receipts say must be true of these logs, and each receipt must be what it was. */
export async function assertAsReceipted({ events, blobs }: LogBundle): Promise<void> {
  const facts = new Map<string, TaskFacts>();
  const receipts = new Map<string, Receipt>();
  const said = new Map<string, Part[]>();
  const kept = new Map(blobs.map(({ sha256, bytes }) => [sha256, bytes]));
  const named: { taskId: string; receiptId: string }[] = [];
  const ended = new Map<string, End>();
  for (const event of events.map(asKernelEvent)) {
    await nextSlice();
    const { taskId } = event;
    if (taskId === null) continue;
    const known = facts.get(taskId) ?? new TaskFacts();
    facts.set(taskId, known);
    // What comes after the end of a task is not in its receipt.
    if (!ended.has(taskId)) asWritten(event, () => known.add(event));
    const issued = issuedBy(event);
    if (issued !== null) receipts.set(issued.record.id, readIssued(issued, kept));
    if (event.event === "vendor.bridle.receipt.imported" && event.payload.record.index !== null) {
      throw refused(`The receipt ${event.payload.record.id} claims a place in a chain here.`);
    }
    if (
      event.event === "tool.approved" ||
      event.event === "tool.denied" ||
      event.event === "vendor.bridle.receipt.requested"
    ) {
      const { receipt_id } = event.payload;
      if (receipt_id !== null) named.push({ taskId, receiptId: receipt_id });
    }
    if (event.event === "agent.message" && event.payload.step === undefined) {
      const { id, parts } = event.payload.message;
      said.set(id, unsealFrom(parts, kept) ?? []);
    }
    const end = endOf(event);
    if (end !== null) ended.set(taskId, end);
  }
  // A receipt stands after what it is about; in logs of earlier versions, before it.
  for (const { taskId, receiptId } of named) {
    if (!receipts.has(receiptId)) throw contradiction(taskId, receiptId);
  }
  for (const receipt of receipts.values()) {
    await nextSlice();
    assertFacts(receipt, facts);
  }
  for (const [taskId, end] of ended) {
    await nextSlice();
    assertEnd(taskId, end, receipts, said);
  }
}

function assertEnd(
  taskId: string,
  end: End,
  receipts: ReadonlyMap<string, Receipt>,
  said: ReadonlyMap<string, Part[]>,
): void {
  const { receipt_id, status, summary } = end.outcome;
  if (receipt_id === null) return;
  const receipt = receipts.get(receipt_id);
  if (receipt?.subject.object === "replay_segment") return;
  const { final_state, failure = null } = receipt?.lifecycle ?? {};
  const isTrue =
    final_state === status &&
    isDeepStrictEqual(failure, end.failure) &&
    summary === summaryOf(end, said) &&
    receipt?.subject.id === taskId;
  if (!isTrue) throw contradiction(taskId, receipt_id);
}

function readIssued(
  { record, receipt: content }: ReceiptIssued,
  kept: ReadonlyMap<string, Uint8Array>,
): Receipt {
  if (blobBytes(content) > receiptBytesMax) throw refused(`The receipt ${record.id} is too long.`);
  const receipt = unsealFrom(content, kept);
  if (receipt === undefined || receipt.receipt_id !== record.id || receiptHash(receipt) !== record.hash) {
    throw refused(`The receipt ${record.id} is not the one that was issued.`);
  }
  if (receipt.chain.receipt_hash !== record.hash) throw refused(`The receipt ${record.id} has another hash.`);
  return receipt;
}

function assertFacts(
  { receipt_id, subject, replay_input, approvals = [] }: Receipt,
  facts: ReadonlyMap<string, TaskFacts>,
): void {
  if (subject.object !== "task") return;
  const known = facts.get(subject.id);
  const material = replay_input.materials.find(({ kind }) => kind === "event_log");
  const isTrue =
    known !== undefined &&
    material?.sha256 === known.logHash &&
    isDeepStrictEqual(approvals.map(withoutKey), known.approvals.map(withoutKey));
  if (!isTrue) throw contradiction(subject.id, receipt_id);
}

/** A receipt names the key of whoever approved; the events of a log that travels have no keys. */
function withoutKey({ quorum_proof, ...approval }: Approval): object {
  const { key_id: _, ...quorum } = quorum_proof ?? {};
  return { ...approval, quorum };
}

function contradiction(taskId: string, receiptId: string | null): HarnessError {
  return refused(`The log of task ${taskId} is not the one that its receipt ${receiptId} is about.`);
}

interface End {
  outcome: Outcome;
  failure: Record<string, unknown> | null;
  reason: string | null;
}

function endOf(event: KernelEvent): End | null {
  switch (event.event) {
    case "task.completed":
      return { outcome: event.payload.outcome, failure: null, reason: null };
    case "task.canceled":
      return { outcome: event.payload.outcome, failure: null, reason: event.payload.reason };
    case "task.failed": {
      const { outcome, failure } = event.payload;
      return { outcome, failure: failureIn(failure), reason: failure.message };
    }
    default:
      return null;
  }
}

/** The sentence about an end follows from what the log has of it. */
function summaryOf({ outcome, reason }: End, said: ReadonlyMap<string, Part[]>): string {
  if (outcome.status === "CANCELED") return summarize({ status: "CANCELED", reason });
  if (outcome.status === "FAILED") {
    return summarize({ status: "FAILED", failure: { code: "", message: reason ?? "" } });
  }
  const [only] = said.get(outcome.message_ids[0] ?? "") ?? [];
  const summary = only?.type === "text" ? only.text : "Completed.";
  return summarize({ status: "COMPLETED", summary, messageIds: [], output: null });
}

export function issuedBy(event: KernelEvent): ReceiptIssued | null {
  return event.event === "receipt.issued" || event.event === "vendor.bridle.receipt.imported"
    ? event.payload
    : null;
}
