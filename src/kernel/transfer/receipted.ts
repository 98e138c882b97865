/** What the receipts in a log say must be true of it. */

import { isDeepStrictEqual } from "node:util";
import { receiptHash } from "../../receipts/hash.ts";
import type { Receipt } from "../../receipts/schema.ts";
import { unsealFrom } from "../content.ts";
import type { HarnessError } from "../errors.ts";
import { asKernelEvent, type KernelEvent } from "../events.ts";
import { failureIn } from "../receipts/drafts.ts";
import { TaskFacts } from "../receipts/facts.ts";
import type { Part } from "../resources/message.ts";
import type { Outcome } from "../resources/outcome.ts";
import type { ReceiptIssued } from "../resources/receipt.ts";
import { nextSlice } from "../slices.ts";
import { summarize } from "../tasks.ts";
import type { LogBundle } from "./bundle.ts";
import { asWritten, refused } from "./refused.ts";

/** What the receipts say must be true of these logs, and each receipt must be what it was. */
export async function assertAsReceipted({ events, blobs }: LogBundle): Promise<void> {
  const facts = new Map<string, TaskFacts>();
  const receipts = new Map<string, Receipt>();
  const said = new Map<string, Part[]>();
  const kept = new Map(blobs.map(({ sha256, bytes }) => [sha256, bytes]));
  for (const event of events.map(asKernelEvent)) {
    await nextSlice();
    if (event.taskId === null) continue;
    const known = facts.get(event.taskId) ?? new TaskFacts();
    facts.set(event.taskId, known);
    asWritten(event, () => known.add(event));
    const issued = issuedBy(event);
    if (issued !== null) receipts.set(issued.record.id, assertReceipt(issued, known, kept));
    if (event.event === "vendor.bridle.receipt.imported" && event.payload.record.index !== null) {
      throw refused(`The receipt ${event.payload.record.id} claims a place in a chain here.`);
    }
    if (event.event === "tool.approved" || event.event === "tool.denied") {
      const { receipt_id } = event.payload;
      if (receipt_id !== null && !receipts.has(receipt_id)) throw contradiction(event.taskId, receipt_id);
    }
    if (event.event === "agent.message" && event.payload.step === undefined) {
      said.set(event.payload.message.id, unsealFrom(event.payload.message.parts, kept) ?? []);
    }
    const ending = endingOf(event);
    if (ending === null) continue;
    const { receipt_id } = ending.outcome;
    const receipt = receipt_id === null ? null : receipts.get(receipt_id);
    if (receipt === null || receipt?.subject.object === "replay_segment") continue;
    const { final_state, failure = null } = receipt?.lifecycle ?? {};
    const isTrue =
      final_state === ending.outcome.status &&
      isDeepStrictEqual(failure, ending.failure) &&
      ending.outcome.summary === summaryOf(ending, said);
    if (receipt === undefined || !isTrue) throw contradiction(event.taskId, receipt_id);
  }
}

function assertReceipt(
  { record, receipt: content }: ReceiptIssued,
  known: TaskFacts,
  kept: ReadonlyMap<string, Uint8Array>,
): Receipt {
  const receipt = unsealFrom(content, kept);
  if (receipt === undefined || receipt.receipt_id !== record.id || receiptHash(receipt) !== record.hash) {
    throw refused(`The receipt ${record.id} is not the one that was issued.`);
  }
  if (receipt.chain.receipt_hash !== record.hash) throw refused(`The receipt ${record.id} has another hash.`);
  if (receipt.subject.object !== "task") return receipt;
  const material = receipt.replay_input.materials.find(({ kind }) => kind === "event_log");
  const isTrue =
    material?.sha256 === known.logHash && isDeepStrictEqual(receipt.approvals ?? [], known.approvals);
  if (!isTrue) throw contradiction(record.task_id, record.id);
  return receipt;
}

function contradiction(taskId: string, receiptId: string | null): HarnessError {
  return refused(`The log of task ${taskId} is not the one that its receipt ${receiptId} is about.`);
}

interface End {
  outcome: Outcome;
  failure: Record<string, unknown> | null;
  reason: string | null;
}

function endingOf(event: KernelEvent): End | null {
  switch (event.event) {
    case "task.completed":
      return { outcome: event.payload.outcome, failure: null, reason: null };
    case "task.canceled":
      return { outcome: event.payload.outcome, failure: null, reason: event.payload.reason };
    case "task.failed": {
      const { outcome, failure } = event.payload;
      return { outcome, failure: failureIn({ status: "FAILED", failure }), reason: failure.message };
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
