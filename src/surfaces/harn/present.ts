/**
 * From the kernel's records to the protocol's resources. What only the runtime needs stays inside; content that the
 * caller may not see is replaced by a descriptor which shows that it exists.
 */

import { type Content, sha256Hex, unseal } from "../../kernel/content.ts";
import { asKernelEvent, type EventPayloads, eventId, type KernelEvent } from "../../kernel/events.ts";
import type { ApiKeyRecord } from "../../kernel/resources/api-key.ts";
import type { ArtifactRecord } from "../../kernel/resources/artifact.ts";
import type { MessageRecord, Part } from "../../kernel/resources/message.ts";
import { type Outcome, outcomeIdOf } from "../../kernel/resources/outcome.ts";
import type { PermissionRequestRecord } from "../../kernel/resources/permission-request.ts";
import type { ReceiptRecord } from "../../kernel/resources/receipt.ts";
import { deltaIdOf, type ReplayPlan } from "../../kernel/resources/replay.ts";
import type { SessionRecord } from "../../kernel/resources/session.ts";
import type { StepResult, TaskInput, TaskRecord } from "../../kernel/resources/task.ts";
import { type Caller, mayUse } from "../../policy/caller.ts";
import type { Position, Store, StoredEvent } from "../../store/port.ts";

export interface Viewer {
  store: Store;
  caller: Caller;
}

type Wire = Record<string, unknown>;

/** Most records are shown as they are, less the tenant. */
export function presentRecord<R extends { tenant_id: string }>(record: R): Omit<R, "tenant_id"> {
  const { tenant_id: _, ...shown } = record;
  return shown;
}

export function presentApiKey({ hash: _, ...shown }: ApiKeyRecord): Omit<ApiKeyRecord, "hash"> {
  return shown;
}

export async function presentMessage(message: MessageRecord, viewer: Viewer): Promise<Wire> {
  const { parts, workspace_id: _, is_replayed: __, ...shown } = presentRecord(message);
  return { ...shown, parts: presentParts(await unseal(parts, viewer.store), viewer.caller) };
}

function presentParts(parts: readonly Part[], caller: Caller): unknown[] {
  if (seesInternal(caller) || parts.every((part) => part.visibility === "public")) return [...parts];
  return parts.map((part) =>
    part.visibility === "public" ? part : redacted(part.type, part, part.visibility),
  );
}

function seesInternal(caller: Caller): boolean {
  return mayUse(caller, "events:read_internal");
}

function redacted(type: string, content: unknown, visibility: string): Wire {
  return { redacted: true, type, visibility, sha256: sha256Hex(JSON.stringify(content)) };
}

export async function presentTask(task: TaskRecord, viewer: Viewer): Promise<Wire> {
  const {
    agent: _,
    pending,
    parked,
    runnable_since: __,
    parent_step: ___,
    policy: ____,
    quota_ids,
    granted_quota_ids: _____,
    exhausted_quota_ids: ______,
    replay,
    input,
    outcome,
    ...shown
  } = presentRecord(task);
  return {
    ...shown,
    input: await presentInput(input, viewer),
    receipt_id: outcome?.receipt_id ?? null,
    outcome_id: outcome === null ? null : outcomeIdOf(task.id),
    quota_id: quota_ids[0] ?? null,
    replay: replay === null ? null : presentPlan(replay),
    waiting_for: waitingFor({ pending, parked }),
  };
}

function presentPlan({ source_task_id, mode, checkpoint, allow_live, reason }: ReplayPlan): Wire {
  return { source_task_id, mode, checkpoint, allow_live, reason };
}

async function presentInput(input: TaskInput, viewer: Viewer): Promise<unknown> {
  if ("payload" in input) return await unseal(input.payload, viewer.store);
  const document = await viewer.store.get("message", input.message_id);
  if (document === undefined)
    throw new Error(`Message ${input.message_id} is the input of a task but missing`);
  return await presentMessage(document.body as MessageRecord, viewer);
}

function waitingFor({ pending, parked }: Pick<TaskRecord, "pending" | "parked">): Wire | null {
  if (pending !== null) {
    return {
      kind: pending.kind,
      description: pending.prompt,
      permission_request_id: pending.permission_request_id,
      schema: pending.schema,
      until: pending.expires_at,
    };
  }
  if (parked === null) return null;
  return {
    kind: "timer_or_child",
    description: parked.reason,
    permission_request_id: null,
    schema: null,
    until: parked.until,
  };
}

/** The answer to a write says which event it was; a read says which is the last. */
export async function presentSession(
  session: SessionRecord,
  { store }: Viewer,
  writtenAt: Position | null = null,
): Promise<Wire> {
  const { ranges: _, ...shown } = presentRecord(session);
  const last = writtenAt ?? (await lastPosition(store, session.id));
  return {
    ...shown,
    transcript: `/v1/sessions/${session.id}/messages`,
    last_event_id: last === null ? null : eventId(last),
  };
}

async function lastPosition(store: Store, sessionId: string): Promise<Position | null> {
  const [last] = await store.events({ sessionId, after: 0, limit: 1, newestFirst: true });
  return last?.position ?? null;
}

export function presentPermissionRequest(request: PermissionRequestRecord): Wire {
  const { step: _, ...shown } = presentRecord(request);
  return shown;
}

/** The receipt of an artifact is that of the task that made it, once that has ended. */
export async function presentArtifact(artifact: ArtifactRecord, { store }: Viewer): Promise<Wire> {
  const { task_id, in_receipt } = artifact;
  const document = task_id === null || !in_receipt ? undefined : await store.get("task", task_id);
  const task = document?.body as TaskRecord | undefined;
  return { ...presentNewArtifact(artifact), receipt_id: task?.outcome?.receipt_id ?? null };
}

function presentNewArtifact(artifact: ArtifactRecord): Wire {
  const { blob: _, in_receipt: __, ...shown } = presentRecord(artifact);
  return { ...shown, receipt_id: null };
}

/** The outcome of a task that has one. */
export async function presentOutcome(task: TaskRecord, viewer: Viewer): Promise<Wire> {
  if (task.outcome === null) throw new Error(`Task ${task.id} has no outcome`);
  const { message_ids, ...shown } = task.outcome;
  const endedAt = task.completed_at ?? task.canceled_at ?? task.updated_at;
  const messages = await Promise.all(message_ids.map((id) => viewer.store.get("message", id)));
  const artifacts = await viewer.store.list({
    kind: "artifact",
    by: { taskId: task.id },
    order: "oldest_first",
    limit: 200,
  });
  return {
    id: outcomeIdOf(task.id),
    object: "outcome",
    created_at: endedAt,
    updated_at: endedAt,
    metadata: {},
    task_id: task.id,
    ...shown,
    messages: await Promise.all(
      messages.flatMap((document) =>
        document === undefined ? [] : presentMessage(document.body as MessageRecord, viewer),
      ),
    ),
    artifacts: await Promise.all(
      artifacts.map((document) => presentArtifact(document.body as ArtifactRecord, viewer)),
    ),
    failure: task.failure,
  };
}

export async function presentEvent(stored: StoredEvent, viewer: Viewer): Promise<Wire> {
  return {
    id: eventId(stored.position),
    object: "event",
    event: stored.event,
    resource: stored.resource,
    created_at: stored.createdAt,
    updated_at: stored.createdAt,
    metadata: {},
    sequence: stored.sequence,
    payload: await presentPayload(asKernelEvent(stored), viewer),
    session_id: stored.sessionId,
    task_id: stored.taskId,
    workspace_id: stored.workspaceId,
    actor: stored.actor,
    previous_event_id: stored.previous === null ? null : eventId(stored.previous),
    receipt_id: receiptOf(asKernelEvent(stored)),
    replayed: stored.replay !== undefined && asKernelEvent(stored).replay?.is_copy === true,
    replay: presentMark(asKernelEvent(stored), stored.position),
  };
}

/** History, told again: the event is the original itself, so it keeps its id. */
export async function presentHistory(stored: StoredEvent, viewer: Viewer): Promise<Wire> {
  const id = eventId(stored.position);
  const replay = {
    source_task_id: stored.taskId,
    replay_task_id: null,
    original_event_id: id,
    replay_cursor: id,
    mode: "exact",
  };
  return { ...(await presentEvent(stored, viewer)), replayed: true, replay };
}

/** Ids of replayed events are new: the original is named, and the cursor is where a reader goes on after this one. */
function presentMark({ replay, taskId, payload }: KernelEvent, position: Position): Wire | null {
  if (replay === undefined) return null;
  const { source_task_id, original_event_id, mode, override_key } = replay;
  const delta =
    override_key === undefined
      ? {}
      : { override_key, receipt_delta_id: deltaIdOf(stepOf(payload) ?? override_key) };
  return {
    source_task_id,
    replay_task_id: taskId,
    original_event_id,
    replay_cursor: eventId(position),
    mode,
    ...delta,
  };
}

function stepOf(payload: object): string | undefined {
  return "step" in payload && typeof payload.step === "string" ? payload.step : undefined;
}

/** The receipt that an event is evidence in, where the event itself says so. */
function receiptOf(event: KernelEvent): string | null {
  switch (event.event) {
    case "task.completed":
    case "task.failed":
    case "task.canceled":
      return event.payload.outcome.receipt_id;
    case "tool.approved":
    case "tool.denied":
      return event.payload.receipt_id;
    case "receipt.issued":
    case "vendor.bridle.receipt.imported":
    case "receipt.verified":
    case "receipt.verification_failed":
      return event.resource.id;
    default:
      return null;
  }
}

/** Records inside payloads are shown as the resources they are; the rest is made to be shown. */
async function presentPayload(event: KernelEvent, viewer: Viewer): Promise<object> {
  switch (event.event) {
    case "user.message":
    case "agent.message":
    case "vendor.bridle.message":
      return { ...event.payload, message: await presentMessage(event.payload.message, viewer) };
    case "task.submitted":
      return { task: await presentTask(event.payload.task, viewer) };
    case "task.completed":
    case "task.failed":
    case "task.canceled":
      return { ...event.payload, outcome: presentOutcomeSummary(event.resource.id, event.payload.outcome) };
    case "session.created": {
      const { ranges: _, ...session } = presentRecord(event.payload.session);
      return {
        session: { ...session, transcript: `/v1/sessions/${session.id}/messages`, last_event_id: null },
      };
    }
    case "session.truncated": {
      const { ranges: _, ...shown } = event.payload;
      return shown;
    }
    case "artifact.created":
      return { ...event.payload, artifact: presentNewArtifact(event.payload.artifact) };
    case "artifact.updated":
      return { ...event.payload, chunk: await presentChunk(event.payload, viewer) };
    case "tool.approval_required":
      return { permission_request: presentPermissionRequest(event.payload.permission_request) };
    case "vendor.bridle.api_key.created":
      return { api_key: presentApiKey(event.payload.api_key) };
    case "receipt.issued":
    case "vendor.bridle.receipt.imported":
      return presentIssued(event.payload.record);
    case "vendor.bridle.signing_key.created":
      return { signing_key: presentRecord(event.payload.signing_key) };
    case "branch.created":
      return { branch: presentRecord(event.payload.branch) };
    case "vendor.bridle.persona.created":
      return { persona: presentRecord(event.payload.persona) };
    case "user.input_submitted": {
      const { answer, ...shown } = event.payload;
      if (answer === undefined) return shown;
      return {
        ...shown,
        answer: seesInternal(viewer.caller) ? answer : redacted("json", answer, "receipt_only"),
      };
    }
    case "span.completed":
    case "span.failed": {
      const { result, ...span } = event.payload;
      return { ...span, result: await presentResult(result, viewer) };
    }
    default:
      return event.payload;
  }
}

async function presentChunk(
  { chunk, visibility }: EventPayloads["artifact.updated"],
  viewer: Viewer,
): Promise<unknown> {
  const text = await unseal(chunk, viewer.store);
  return visibility === "public" || seesInternal(viewer.caller) ? text : redacted("text", text, visibility);
}

/** The receipt itself is read at its own address, by those who may. */
function presentIssued({ id, subject, hash, previous_hash, index }: ReceiptRecord): Wire {
  return {
    receipt_id: id,
    subject,
    receipt_hash: hash,
    previous_receipt_hash: previous_hash,
    chain_index: index,
  };
}

/** In an event the outcome's messages are the events before it; there they are in full. */
function presentOutcomeSummary(taskId: string, outcome: Outcome): Wire {
  return { id: outcomeIdOf(taskId), object: "outcome", task_id: taskId, ...outcome };
}

/** What a step gave is the run's own business: internal. */
async function presentResult(result: StepResult, viewer: Viewer): Promise<unknown> {
  if ("error" in result) return result;
  const output: Content<unknown> = result.output;
  const value = await unseal(output, viewer.store);
  return { output: seesInternal(viewer.caller) ? value : redacted("json", value, "internal") };
}
