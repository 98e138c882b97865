/**
 * Take over the log of a session from another server: its events as they were, under their own ids, so that what is
 * computed from them is the same here as there. All of it or nothing.
 */

import { createHash, type Hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Caller } from "../../policy/caller.ts";
import { receiptHash } from "../../receipts/hash.ts";
import type { Receipt } from "../../receipts/schema.ts";
import type { NewEvent } from "../../store/port.ts";
import { requireScope } from "../authorize.ts";
import { unsealFrom } from "../content.ts";
import type { Command } from "../dispatch.ts";
import { HarnessError, notFound } from "../errors.ts";
import { asKernelEvent, type EventKind, type KernelEvent, terminalEvents } from "../events.ts";
import { type AnyRecord, created, indexOf, type Kind } from "../fold.ts";
import { isFinal } from "../lifecycle.ts";
import type { Release } from "../locks.ts";
import { failureIn } from "../receipts/drafts.ts";
import { TaskFacts } from "../receipts/facts.ts";
import type { Part } from "../resources/message.ts";
import type { Outcome } from "../resources/outcome.ts";
import { exchangesOf } from "../resources/permission-request.ts";
import type { ReceiptIssued } from "../resources/receipt.ts";
import type { ImportMark } from "../resources/resource.ts";
import type { SessionRecord } from "../resources/session.ts";
import type { TaskRecord } from "../resources/task.ts";
import { Slices } from "../slices.ts";
import { summarize } from "../tasks.ts";
import { blobsOf, type LogBundle, readLogBundle } from "../transfer/bundle.ts";
import { wrongIn, wrongInMark } from "../transfer/payloads.ts";
import type { KernelDeps, Unit } from "../unit.ts";
import { emitWorkspace } from "./create-workspace.ts";
import { nameIn } from "./ensure-tenant.ts";
import { adoptedSessionId } from "./send-message.ts";

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

/** The largest log that is taken over, and its longest line: content of a message or an artifact. */
const bytesMax = 256 * 1024 * 1024;
const lineCharsMax = 64 * 1024 * 1024;

/** Reads a log as it arrives, when the one before of the tenant is done: all of it is in memory until it is on disk. */
export async function receiveLog(
  { locks }: KernelDeps,
  caller: Caller,
  source: AsyncIterable<Uint8Array>,
): Promise<{ bundle: LogBundle; sha256: string; release: Release }> {
  requireScope(caller, "admin");
  // Who sends slowly keeps nobody waiting but their own tenant.
  const release = await locks.acquire(`import:${caller.tenantId}`);
  try {
    const hash = createHash("sha256");
    const bundle = await readLogBundle(linesOf(source, hash));
    return { bundle, sha256: hash.digest("hex"), release };
  } catch (error) {
    release();
    throw error;
  }
}

function tooLarge(): HarnessError {
  return new HarnessError(
    "payload_too_large",
    `A log has at most ${bytesMax} bytes here, and ${lineCharsMax} characters on a line.`,
    { details: { bytes_max: bytesMax, line_chars_max: lineCharsMax } },
  );
}

async function* linesOf(source: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const decode = (bytes?: Uint8Array) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw refused("It is not UTF-8.");
    }
  };
  /** A long line comes in many pieces, which are put together once. */
  let begun: string[] = [];
  let [bytes, chars] = [0, 0];
  for await (const piece of source) {
    bytes += piece.length;
    hash.update(piece);
    const [first = "", ...rest] = decode(piece).split("\n");
    begun.push(first);
    chars += first.length;
    if (bytes > bytesMax || chars > lineCharsMax) throw tooLarge();
    const last = rest.pop();
    if (last === undefined) continue;
    yield begun.join("");
    yield* rest;
    begun = [last];
    chars = last.length;
  }
  yield begun.join("") + decode();
}

export const importSession: Command<{ bundle: LogBundle }, SessionRecord> = {
  name: "import_session",
  scope: "admin",
  // An id that is in use, by whomever, stays so.
  triesMax: 3,
  async decide(unit, { bundle }) {
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
    const slices = new Slices();
    await assertSound(unit, bundle, slices);
    if ((await unit.find("workspace", workspace.id)) === undefined) {
      // A key bound to workspaces can neither make this one nor learn that it is there.
      if (unit.caller.workspaceIds !== null) throw notFound("workspace", workspace.id);
      assertOwnWorkspaceId(unit.caller.tenantId, workspace.id);
      await assertFree(unit, "workspace", workspace.id);
      emitWorkspace(unit, { name: workspace.name, root: workspace.root }, workspace.id);
    }
    for (const blob of bundle.blobs) unit.keepBlob(blob);
    const before = new Set(unit.made().map(([, record]) => record));
    for (const event of bundle.events) {
      await slices.next();
      const adopted = asImported(event, { by: unit.caller.actor, at: unit.at });
      for (const { object, id } of asWritten(event, () => created(adopted)))
        await assertFree(unit, object, id);
      asWritten(event, () => unit.adopt(adopted));
    }
    await leaveHandoffs(unit, bundle);
    await leaveApprovals(unit, bundle);
    assertSettled(
      unit.made().filter(([, record]) => !before.has(record)),
      bundle,
      unit.caller,
    );
    return await unit.require("session", session_id);
  },
};

/** A workspace is named by chance, or after the tenant. */
function assertOwnWorkspaceId(tenantId: string, id: string): void {
  if (/^workspace_[0-9A-Z]{26}$/.test(id) || id === nameIn(tenantId, "workspace_default")) return;
  throw refused(`${id} is not an id that a workspace of this tenant can have.`);
}

/** What is here already is left as it is, whoever's it is. */
async function assertFree(unit: Unit, kind: Kind, id: string): Promise<void> {
  if ((await unit.findForHarness(kind, id)) === undefined) return;
  throw new HarnessError("conflict", `${id} is in use already.`, { details: { [`${kind}_id`]: id } });
}

/** What has come of the log: records of this session only, nothing among them that goes on, is waited for or wakes anybody. */
function assertSettled(made: [id: string, record: AnyRecord][], { header }: LogBundle, caller: Caller): void {
  const ids = new Set(made.map(([id]) => id));
  for (const [id, record] of made) {
    const place = { workspace_id: header.workspace.id, session_id: header.session_id, ...record };
    if (!hasFormOf(record, caller)) throw refused(`${id} is not an id of its kind.`);
    const isOurs =
      id === record.id &&
      importedKinds.has(record.object) &&
      record.tenant_id === header.tenant_id &&
      place.workspace_id === header.workspace.id &&
      place.session_id === header.session_id;
    if (!isOurs) throw refused(`${id} is not a record of this session.`);
    if ("task_id" in record && record.task_id !== null && !ids.has(record.task_id)) {
      throw refused(`${id} is of a task that it does not have, ${record.task_id}.`);
    }
    if (indexOf(record).wakeAt != null) throw refused(`${id} has not come to its end.`);
    if (record.object === "task") assertTaskEnded(record, ids);
    if (record.object === "permission_request" && record.status === "pending") {
      throw refused(`The request ${id} still waits for an answer.`);
    }
  }
}

/** Ids that are made of something else, as those of chains, tenants and contexts are, are not for a file to choose. */
const idForms: Partial<Record<Kind, RegExp>> = {
  session: /^session_(?:[0-9A-Z]{26}|(?:ctx|shell)_[0-9a-f]{32})$/,
  message: /^msg_(?:[0-9A-Z]{26}|replay_[0-9a-f]{1,64})$/,
  task: /^task_[0-9A-Z]{26}$/,
  artifact: /^artifact_(?:[0-9A-Z]{26}|replay_[0-9a-f]{1,64})$/,
  permission_request: /^perm_[0-9A-Z]{26}$/,
  handoff: /^handoff_[0-9A-Z]{26}$/,
  receipt: /^receipt_(?:[0-9A-Z]{26}|replay_(?:[0-9a-f]{1,64}|live_[0-9A-Z]{26}))$/,
  approval_nonce: /^nonce_[0-9a-f]{64}$/,
};

function hasFormOf(record: AnyRecord, { workspaceIds: bound }: Caller): boolean {
  const { object, id, tenant_id: tenantId } = record;
  if (idForms[object]?.test(id) !== true) return false;
  // That of a shell's session is made of what only the shell knows: it is for those who may do everything in the tenant.
  if (id.startsWith("session_shell_")) return bound === null;
  if (record.object !== "session" || !id.startsWith("session_ctx_")) return true;
  // That of a client's own context is made of the tenant and of whoever began it.
  const owners = [null, [record.workspace_id]];
  return owners.some(
    (workspaceIds) => id === adoptedSessionId({ tenantId, workspaceIds }, record.context_id ?? ""),
  );
}

/** By what its events have made of it, not by their names. */
function assertTaskEnded(task: TaskRecord, ids: ReadonlySet<string>): void {
  if (!isFinal(task.status) || task.outcome === null) {
    throw refused(`Task ${task.id} has not ended.`);
  }
  if (task.parent_task_id !== null && !ids.has(task.parent_task_id)) {
    throw refused(`Task ${task.id} has a parent that it does not have, ${task.parent_task_id}.`);
  }
}

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

async function assertSound(unit: Unit, bundle: LogBundle, slices: Slices): Promise<void> {
  for (const event of bundle.events) {
    await slices.next();
    assertBelongs(event, bundle);
  }
  assertCopies(bundle);
  assertOneSession(bundle);
  assertEnded(bundle);
  await assertClean(unit, bundle, slices);
  assertContentIsThere(bundle);
  await assertAsReceipted(bundle, slices);
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
  const wrong = wrongIn(event.event, event.payload) ?? wrongInMark(event.replay);
  if (wrong !== null)
    throw refused(`It has an event ${event.event} with ${wrong || "a payload"} not of its kind.`);
  const { tenantId, workspaceId, sessionId, taskId, resource } = event;
  const isOurs =
    tenantId === header.tenant_id && workspaceId === header.workspace.id && sessionId === header.session_id;
  if (!isOurs) throw refused(`It has an event of another session, ${sessionId}.`);
  // An event is about what it makes. What an approver decided is about the request, and makes a mark beside it.
  const [made] = created(asKernelEvent(event));
  const isAbout =
    made === undefined || event.event === "vendor.bridle.approval.decided" || made.id === resource.id;
  if (!isAbout) throw refused(`It has an event ${event.event} about something else than it makes.`);
  if (taskId !== null && resource.object === "task" && resource.id !== taskId) {
    throw refused(`It has an event of task ${taskId} about another, ${resource.id}.`);
  }
}

/** Only a replay copies events; elsewhere a copy would be an event that counts for nothing. */
function assertCopies({ events }: LogBundle): void {
  const replays = new Set(
    events
      .map(asKernelEvent)
      .flatMap((event) =>
        event.event === "task.submitted" && event.payload.task.replay !== null ? [event.resource.id] : [],
      ),
  );
  const stray = events.find(({ replay, taskId }) => replay !== undefined && !replays.has(taskId ?? ""));
  if (stray !== undefined) throw refused(`It has a copied event ${stray.event} outside of a replay.`);
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
async function assertClean({ redactor }: Unit, { events, blobs }: LogBundle, slices: Slices): Promise<void> {
  const isClean = (value: unknown) => redactor.value(value) === value;
  const dirty = () => refused("It holds what looks like a credential.");
  for (const { payload, actor, resource } of events) {
    await slices.next();
    if (!isClean(payload) || !isClean(actor) || !isClean(resource.id)) throw dirty();
  }
  for (const { bytes } of blobs) {
    await slices.next();
    if (!isClean(Buffer.from(bytes).toString("utf8"))) throw dirty();
  }
}

function assertContentIsThere({ events, blobs }: LogBundle): void {
  const kept = new Set(blobs.map(({ sha256 }) => sha256));
  const missing = events
    .flatMap((event) => asWritten(event, () => blobsOf(event)))
    .find((sha256) => !kept.has(sha256));
  if (missing !== undefined) throw refused(`The content ${missing}, of which an event speaks, is missing.`);
}

/** What the receipts say must be true of these logs, and each receipt must be what it was. */
async function assertAsReceipted({ events, blobs }: LogBundle, slices: Slices): Promise<void> {
  const facts = new Map<string, TaskFacts>();
  const receipts = new Map<string, Receipt>();
  const said = new Map<string, Part[]>();
  const kept = new Map(blobs.map(({ sha256, bytes }) => [sha256, bytes]));
  for (const event of events.map(asKernelEvent)) {
    await slices.next();
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

/** Marked as what it is. The receipts of another server are kept as they are, outside the chains of this one. */
function asImported(event: NewEvent, imported: ImportMark): KernelEvent {
  const typed = asKernelEvent({ ...event, imported });
  const issued = issuedBy(typed);
  if (issued === null) return typed;
  const { record, receipt } = issued;
  const payload: ReceiptIssued = { record: { ...record, index: null }, receipt };
  const { tenantId, workspaceId, sessionId, taskId, actor, createdAt, resource } = typed;
  const at = { tenantId, workspaceId, sessionId, taskId, actor, createdAt, resource, imported };
  return { ...at, event: "vendor.bridle.receipt.imported", payload };
}

function refused(problem: string): HarnessError {
  return new HarnessError("invalid_request", `This log cannot be imported. ${problem}`);
}
