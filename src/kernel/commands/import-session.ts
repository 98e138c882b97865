/**
 * Take over the log of a session from another server: its events as they were, under their own ids, so that what is
 * computed from them is the same here as there. All of it or nothing.
 */

import { isDeepStrictEqual } from "node:util";
import { receiptHash } from "../../receipts/hash.ts";
import type { Receipt } from "../../receipts/schema.ts";
import type { NewEvent } from "../../store/port.ts";
import { unsealFrom } from "../content.ts";
import type { Command } from "../dispatch.ts";
import { HarnessError, notFound } from "../errors.ts";
import { asKernelEvent, type EventKind, type KernelEvent, terminalEvents } from "../events.ts";
import { created, type Kind } from "../fold.ts";
import { failureIn } from "../receipts/drafts.ts";
import { TaskFacts } from "../receipts/facts.ts";
import type { Part } from "../resources/message.ts";
import type { Outcome } from "../resources/outcome.ts";
import { exchangesOf } from "../resources/permission-request.ts";
import type { ReceiptIssued } from "../resources/receipt.ts";
import type { SessionRecord } from "../resources/session.ts";
import { summarize } from "../tasks.ts";
import { blobsOf, type LogBundle, parseLogBundle } from "../transfer/bundle.ts";
import type { Unit } from "../unit.ts";
import { emitWorkspace } from "./create-workspace.ts";

/** What a session's log may hold. Nothing else gets in by this door: no keys, no personas, no tenants. */
const importable: ReadonlySet<string> = new Set<EventKind>([
  "session.created",
  "vendor.bridle.session.updated",
  "session.closed",
  "session.message_appended",
  "session.thread_forked",
  "session.thread_merged",
  "session.replayed",
  "user.message",
  "agent.message",
  "vendor.bridle.message",
  "artifact.created",
  "artifact.updated",
  "task.submitted",
  "task.started",
  "task.status_changed",
  "task.input_required",
  "task.auth_required",
  "task.completed",
  "task.failed",
  "task.canceled",
  "user.input_submitted",
  "user.cancel_requested",
  "user.tool_confirmation",
  "tool.approval_required",
  "tool.approved",
  "tool.denied",
  "vendor.bridle.approval.requested",
  "vendor.bridle.approval.submitted",
  "vendor.bridle.approval.delayed",
  "vendor.bridle.approval.decided",
  "vendor.bridle.approval.closed",
  "vendor.bridle.approval.settled",
  "vendor.bridle.approval.used",
  "agent.handoff",
  "vendor.bridle.handoff.created",
  "vendor.bridle.handoff.updated",
  "agent.memory_read",
  "agent.memory_write",
  "vendor.bridle.quota.exhausted",
  "vendor.bridle.quota.granted",
  "span.started",
  "span.updated",
  "span.completed",
  "span.failed",
  "vendor.bridle.step.late_result",
  "receipt.issued",
  "receipt.verified",
  "receipt.verification_failed",
  "vendor.bridle.receipt.imported",
  "replay.started",
  "replay.completed",
  "replay.failed",
]);

/** What these events make, and nothing else. */
const importedKinds: ReadonlySet<string> = new Set<Kind>([
  "session",
  "message",
  "artifact",
  "task",
  "permission_request",
  "approval_nonce",
  "handoff",
  "receipt",
]);

export const importSession: Command<{ text: string }, SessionRecord> = {
  name: "import_session",
  scope: "admin",
  async decide(unit, { text }) {
    const bundle = parseLogBundle(text);
    const { tenant_id, session_id, task_id, workspace } = bundle.header;
    if (task_id !== null) throw refused("It is the log of one task; a session's log is needed.");
    if (tenant_id !== unit.caller.tenantId) {
      throw refused(`It is of the tenant ${tenant_id}; import it with a key of a tenant of that name.`);
    }
    if ((await unit.find("session", session_id)) !== undefined) {
      throw new HarnessError("conflict", `Session ${session_id} is here already.`, {
        details: { session_id },
      });
    }
    assertSound(unit, bundle);
    if ((await unit.find("workspace", workspace.id)) === undefined) {
      // A key bound to workspaces can neither make this one nor learn that it is there.
      if (unit.caller.workspaceIds !== null) throw notFound("workspace", workspace.id);
      emitWorkspace(unit, { name: workspace.name, root: workspace.root }, workspace.id);
    }
    for (const blob of bundle.blobs) unit.keepBlob(blob);
    for (const event of bundle.events) asWritten(event, () => unit.adopt(asImported(event)));
    await leaveHandoffs(unit, bundle);
    await leaveApprovals(unit, bundle);
    return await unit.require("session", session_id);
  },
};

/** Remote agents are the business of the server that gave them the work. */
async function leaveHandoffs(unit: Unit, { events }: LogBundle): Promise<void> {
  for (const { event, resource } of events) {
    if (event !== "vendor.bridle.handoff.created") continue;
    const handoff = await unit.require("handoff", resource.id);
    if (handoff.status === "ended") continue;
    unit.emit(handoff, "vendor.bridle.handoff.updated", { changes: { status: "ended", step: null } });
  }
}

/** So are the gateways that it asked through. */
async function leaveApprovals(unit: Unit, { events }: LogBundle): Promise<void> {
  for (const { event, resource } of events) {
    if (event !== "tool.approval_required") continue;
    const request = await unit.require("permission_request", resource.id);
    for (const { request_id, is_settled } of exchangesOf(request)) {
      if (!is_settled) unit.emit(request, "vendor.bridle.approval.settled", { request_id });
    }
  }
}

/** Events are checked by what they mean; one that does not even have the shape of its kind shows itself here. */
function asWritten<T>({ event }: NewEvent, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof HarnessError) throw error;
    throw refused(`It has an event ${event} that is not of the form of its kind.`);
  }
}

function assertSound(unit: Unit, bundle: LogBundle): void {
  for (const event of bundle.events) assertBelongs(event, bundle);
  assertOneSession(bundle);
  assertEnded(bundle);
  assertClean(unit, bundle);
  assertContentIsThere(bundle);
  assertAsReceipted(bundle);
}

function assertBelongs(event: NewEvent, { header }: LogBundle): void {
  if (event.event === "session.truncated") {
    throw refused("The session was truncated; its transcript cannot be moved to another log.");
  }
  if (event.event === "session.compacted") {
    throw refused("The session was compacted; its transcript cannot be moved to another log.");
  }
  if (!importable.has(event.event)) {
    throw refused(`It has an event ${event.event}, which is no part of a session's log.`);
  }
  const isOurs = (record: { tenant_id: string; workspace_id?: string | null; session_id?: string | null }) =>
    record.tenant_id === header.tenant_id &&
    (record.workspace_id ?? header.workspace.id) === header.workspace.id &&
    (record.session_id ?? header.session_id) === header.session_id;
  const { tenantId, workspaceId, sessionId } = event;
  const place = { tenant_id: tenantId, workspace_id: workspaceId, session_id: sessionId };
  if (!isOurs(place)) throw refused(`It has an event of another session, ${sessionId}.`);
  // What an event makes must be where the event says it is.
  const strangers = asWritten(event, () => created(asImported(event)).filter((record) => !isOurs(record)));
  if (strangers.length > 0) throw refused(`It has a document of another place inside ${event.event}.`);
  // A record says itself what it is; a message that says it is a key would be one.
  const foreign = created(asImported(event)).find(({ object }) => !importedKinds.has(object));
  if (foreign !== undefined) throw refused(`It has a document of another kind inside ${event.event}.`);
}

function assertOneSession({ header, events }: LogBundle): void {
  const sessions = events.map(asKernelEvent).filter(({ event }) => event === "session.created");
  const [only] = sessions;
  if (
    sessions.length !== 1 ||
    only?.event !== "session.created" ||
    only.payload.session.id !== header.session_id
  ) {
    throw refused(`It must begin with the session ${header.session_id} and no other.`);
  }
  if (only.payload.session.parent_session_id !== null) {
    throw refused("The session is a fork; its transcript begins in another session's log.");
  }
}

/** A task that goes on elsewhere must not go on here as well: one beginning, one end, and nothing moves after it. */
function assertEnded({ events }: LogBundle): void {
  const state = new Map<string, "open" | "ended">();
  for (const { event, resource, taskId } of events) {
    if (event === "task.submitted") {
      if (state.has(resource.id)) throw refused(`Task ${resource.id} is submitted twice.`);
      state.set(resource.id, "open");
    } else if (
      taskId !== null &&
      state.get(taskId) === "ended" &&
      !event.startsWith("receipt.") &&
      event !== "artifact.created" &&
      !event.startsWith("vendor.bridle.handoff.") &&
      event !== "vendor.bridle.approval.settled"
    ) {
      throw refused(`Task ${taskId} goes on after its end.`);
    } else if (terminalEvents.has(event)) state.set(resource.id, "ended");
  }
  const open = [...state].find(([, at]) => at === "open");
  if (open !== undefined) throw refused(`Task ${open[0]} has not ended.`);
}

/** Taking something out would break what the receipts say; so it is not taken in. */
function assertClean({ redactor }: Unit, { events, blobs }: LogBundle): void {
  const isClean = (value: unknown) => redactor.value(value) === value;
  const dirty =
    events.find((event) => !isClean(event.payload) || !isClean(event.actor) || !isClean(event.resource.id)) ??
    blobs.find(({ bytes }) => !isClean(Buffer.from(bytes).toString("utf8")));
  if (dirty !== undefined) throw refused("It holds what looks like a credential.");
}

function assertContentIsThere({ events, blobs }: LogBundle): void {
  const kept = new Set(blobs.map(({ sha256 }) => sha256));
  const missing = events
    .flatMap((event) => asWritten(event, () => blobsOf(event)))
    .find((sha256) => !kept.has(sha256));
  if (missing !== undefined) throw refused(`The content ${missing}, of which an event speaks, is missing.`);
}

/** What the receipts say must be true of these logs, and each receipt must be what it was. */
function assertAsReceipted({ events, blobs }: LogBundle): void {
  const facts = new Map<string, TaskFacts>();
  const receipts = new Map<string, Receipt>();
  const said = new Map<string, Part[]>();
  const kept = new Map(blobs.map(({ sha256, bytes }) => [sha256, bytes]));
  for (const event of events.map(asKernelEvent)) {
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

function issuedBy(event: KernelEvent): ReceiptIssued | null {
  return event.event === "receipt.issued" || event.event === "vendor.bridle.receipt.imported"
    ? event.payload
    : null;
}

/** The receipts of another server are kept as they are, outside the chains of this one. */
function asImported(event: NewEvent): KernelEvent {
  const typed = asKernelEvent(event);
  const issued = issuedBy(typed);
  if (issued === null) return typed;
  const { record, receipt } = issued;
  const payload: ReceiptIssued = { record: { ...record, index: null }, receipt };
  const { tenantId, workspaceId, sessionId, taskId, actor, createdAt, resource } = typed;
  const at = { tenantId, workspaceId, sessionId, taskId, actor, createdAt, resource };
  return { ...at, event: "vendor.bridle.receipt.imported", payload };
}

function refused(problem: string): HarnessError {
  return new HarnessError("invalid_request", `This log cannot be imported. ${problem}`);
}
