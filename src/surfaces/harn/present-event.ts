/** From the facts of the log to the protocol's events: the same resources as elsewhere, with what the viewer may see. */

import { type Content, unsealShown } from "../../kernel/core/content.ts";
import {
  asKernelEvent,
  type EventPayloads,
  eventId,
  type KernelEvent,
  type ModelDelta,
  type ToolCallInput,
} from "../../kernel/core/events.ts";
import { auditRecordOf } from "../../kernel/kinds/audit-log.ts";
import type { HandoffChanges } from "../../kernel/kinds/handoff.ts";
import type { ModelCallBegun } from "../../kernel/kinds/model-call.ts";
import { type Outcome, outcomeIdOf } from "../../kernel/kinds/outcome.ts";
import type { ReceiptRecord } from "../../kernel/kinds/receipt.ts";
import { deltaIdOf } from "../../kernel/kinds/replay.ts";
import type { ShellTurn } from "../../kernel/kinds/shell-link.ts";
import type { StepResult } from "../../kernel/kinds/task.ts";
import type { JsonValue, Position, StoredEvent } from "../../store/port.ts";
import { traceOf } from "./event-trace.ts";
import {
  type Onlooker,
  ownStore,
  presentApiKey,
  presentBranch,
  presentCompaction,
  presentConnector,
  presentContent,
  presentErased,
  presentExchange,
  presentMemory,
  presentMemoryContent,
  presentMessage,
  presentNewArtifact,
  presentPermissionRequest,
  presentPushConfig,
  presentRecord,
  presentSecret,
  presentSessionFacts,
  presentSkill,
  presentVault,
  redacted,
  seesInternal,
  type Viewer,
  type Wire,
} from "./present.ts";
import { presentTask } from "./present-task.ts";

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
    payload:
      presentAudit(stored) ??
      (await presentPayload(asKernelEvent(stored), { ...viewer, place: eventId(stored.position) })),
    ...(await traceOf(stored, viewer)),
    session_id: stored.resource.object === "audit_log" ? null : stored.sessionId,
    task_id: stored.taskId,
    workspace_id: stored.workspaceId,
    actor: stored.actor,
    ...(stored.keyId === undefined ? {} : { key_id: stored.keyId }),
    previous_event_id: stored.previous === null ? null : eventId(stored.previous),
    receipt_id: receiptOf(asKernelEvent(stored)),
    replayed: stored.replay !== undefined && asKernelEvent(stored).replay?.is_copy === true,
    replay: presentMark(asKernelEvent(stored), stored.position),
    ...(stored.imported === undefined ? {} : { imported: stored.imported }),
  };
}

/** The record with what its event says of it, as it is hashed. */
function presentAudit(stored: StoredEvent): Wire | null {
  const record = auditRecordOf(stored);
  return record === null ? null : { object: "audit_record", ...record };
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
    case "vendor.bridle.receipt.requested":
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
async function presentPayload(event: KernelEvent, viewer: Onlooker): Promise<object> {
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
    case "session.created":
      return { session: { ...presentSessionFacts(event.payload.session), last_event_id: null } };
    case "session.truncated": {
      const { ranges: _, ...shown } = event.payload;
      return shown;
    }
    case "session.compacted":
      return presentCompaction(event.payload.compaction);
    case "artifact.created":
      return { ...event.payload, artifact: presentNewArtifact(event.payload.artifact) };
    case "artifact.updated":
      return { ...event.payload, chunk: await presentChunk(event.payload, viewer) };
    case "tool.approval_required":
      return { permission_request: presentPermissionRequest(event.payload.permission_request) };
    case "vendor.bridle.approval.requested":
      return { exchange: presentExchange(event.payload.exchange) };
    case "vendor.bridle.approval.decided":
      return { request_id: event.payload.request_id, decision: event.payload.decision.decision };
    case "vendor.bridle.session.trimmed": {
      const { tasks, ...shown } = event.payload;
      return { ...shown, task_ids: tasks.map(({ id }) => id) };
    }
    case "vendor.bridle.policy_change.requested": {
      const { exchanges: _, requester: __, ...shown } = presentRecord(event.payload.policy_change);
      return { policy_change: shown };
    }
    case "vendor.bridle.approvers.created":
    case "vendor.bridle.approvers.changed":
      // Who they are is read at its own address, by those who may.
      return {};
    case "vendor.bridle.harp_prompt.delivered":
      return { harp_prompt: presentRecord(event.payload.harp_prompt) };
    case "vendor.bridle.harp_session.begun":
      return { harp_session: presentRecord(event.payload.harp_session) };
    case "vendor.bridle.harp_session.told": {
      // What was told is read at its own address, by those who may.
      const { content: _, ...shown } = event.payload;
      return shown;
    }
    case "vendor.bridle.api_key.created":
      return { api_key: presentApiKey(event.payload.api_key) };
    case "vendor.bridle.api_key.rotated":
      return { previous_key_expires_at: event.payload.previous?.until ?? null };
    case "receipt.issued":
    case "vendor.bridle.receipt.imported":
      return presentIssued(event.payload.record);
    case "vendor.bridle.vault.created":
      return { vault: presentVault(event.payload.vault) };
    case "vendor.bridle.vault.secret_set":
      return presentSecret(event.resource.id, event.payload.entry);
    case "vendor.bridle.vault.data_key_rotated":
    case "vendor.bridle.vault.data_key_rewrapped":
    case "vendor.bridle.connector.data_key_rewrapped":
    case "vendor.bridle.push_config.data_key_rewrapped":
      return { data_key_version: event.payload.data_key.version, master_key_id: event.payload.data_key.kid };
    case "vendor.bridle.signing_key.created":
      return { signing_key: presentRecord(event.payload.signing_key) };
    case "vendor.bridle.handoff.created":
      return { handoff: presentHandoff(presentRecord(event.payload.handoff)) };
    case "vendor.bridle.handoff.updated":
      return { changes: presentHandoff(event.payload.changes) };
    case "branch.created":
      return { branch: presentBranch(event.payload.branch) };
    case "vendor.bridle.persona.created":
      return { persona: presentRecord(event.payload.persona) };
    case "vendor.bridle.memory.created":
      return { memory: presentMemory(event.payload.memory, viewer) };
    case "vendor.bridle.memory.updated": {
      const { changes } = event.payload;
      return { changes: { ...changes, content: presentMemoryContent(changes, viewer) } };
    }
    case "vendor.bridle.skill.created":
      return { skill: presentSkill(event.payload.skill, event.createdAt) };
    case "vendor.bridle.connector.created":
      return { connector: presentConnector(event.payload.connector) };
    case "vendor.bridle.connector.updated": {
      const { set_up_by: _, ...changes } = event.payload.changes;
      return { changes };
    }
    case "vendor.bridle.schedule.created": {
      const { set_up_by: _, ...schedule } = event.payload.schedule;
      return { schedule };
    }
    case "vendor.bridle.push_config.created":
    case "vendor.bridle.push_config.replaced":
      return { push_config: presentPushConfig(event.payload.push_config) };
    case "user.input_submitted": {
      const { answer, ...shown } = event.payload;
      if (answer === undefined) return shown;
      return { ...shown, answer: presentContent({ content: answer, visibility: "receipt_only" }, viewer) };
    }
    case "vendor.bridle.shell_link.created": {
      const { caller: _, seed: __, told: ___, ...link } = presentRecord(event.payload.shell_link);
      return { shell_link: await presentTurn(link, viewer) };
    }
    case "vendor.bridle.shell_link.turn_taken":
      return { turn: await presentTurn(event.payload.turn, viewer) };
    case "span.updated": {
      const { directive, delta, ...update } = event.payload;
      if (delta !== undefined) return { ...update, delta: await presentDelta(delta, viewer) };
      if (directive === undefined) return update;
      const found = await unsealShown(directive, ownStore(viewer));
      return { ...update, directive: presentInternal(found, viewer) };
    }
    case "agent.tool_use":
    case "agent.mcp_tool_use":
    case "agent.tool_result":
      return await presentToolEvent(event.payload, viewer);
    case "span.started":
      return await presentStarted(event.payload, viewer);
    case "span.completed":
    case "span.failed": {
      const { result, tool_call, network, ...rest } = event.payload;
      const span = await presentStack(rest, viewer);
      const call = tool_call === undefined ? {} : { tool_call: await presentToolCall(tool_call, viewer) };
      const sent = network === undefined ? {} : { network: presentInternal({ value: network }, viewer) };
      return { ...span, ...call, ...sent, result: await presentResult(result, viewer) };
    }
    case "user.tool_confirmation": {
      const { modified_input: value, ...shown } = event.payload;
      return value === undefined ? shown : { ...shown, modified_input: presentInternal({ value }, viewer) };
    }
    case "connector.normalized": {
      const { content, ...shown } = event.payload;
      if (content === undefined) return shown;
      return { ...shown, content: presentInternal(await unsealShown(content, ownStore(viewer)), viewer) };
    }
    case "vendor.bridle.signal.received": {
      const { payload, ...signal } = event.payload;
      return { ...signal, payload: presentInternal(await unsealShown(payload, ownStore(viewer)), viewer) };
    }
    case "vendor.bridle.step.attempt_failed": {
      const { network, ...rest } = event.payload;
      const sent = network === undefined ? {} : { network: presentInternal({ value: network }, viewer) };
      return { ...(await presentStack(rest, viewer)), ...sent };
    }
    case "vendor.bridle.step.late_result": {
      const { result, ...span } = event.payload;
      return { ...span, result: await presentResult(result, viewer) };
    }
    default:
      return event.payload;
  }
}

/** Where code threw something is for those who may see what runs do. */
async function presentStack<T extends object>(
  { stack, ...shown }: T & { stack?: Content<string> },
  viewer: Onlooker,
): Promise<Wire> {
  if (stack === undefined) return shown;
  return { ...shown, stack: presentInternal(await unsealShown(stack, ownStore(viewer)), viewer) };
}

/** What a model says is the run's own business, unless it is said to be for everybody. */
async function presentDelta({ text, visibility, ...delta }: ModelDelta, viewer: Onlooker): Promise<Wire> {
  const found = await unsealShown(text, ownStore(viewer));
  const shown = "value" in found && visibility === "public" ? found.value : presentInternal(found, viewer);
  return { ...delta, visibility, text: shown };
}

async function presentToolCall({ input, effect }: ToolCallInput, viewer: Onlooker): Promise<Wire> {
  return { effect, input: presentInternal(await unsealShown(input, ownStore(viewer)), viewer) };
}

/** What a tool was given and what it gave are the run's own business, as in the span of the call. */
async function presentToolEvent(payload: ToolEventPayload, viewer: Onlooker): Promise<Wire> {
  const content = async (sealed: Content<JsonValue> | null) =>
    sealed === null ? null : presentInternal(await unsealShown(sealed, ownStore(viewer)), viewer);
  return "input" in payload
    ? { ...payload, input: await content(payload.input) }
    : { ...payload, output: await content(payload.output) };
}

type ToolEventPayload = EventPayloads["agent.tool_use"] | EventPayloads["agent.tool_result"];

/** The messages of a model's input, for those who may see what steps are given. */
async function presentModelCall({ input, ...call }: ModelCallBegun, viewer: Onlooker): Promise<Wire> {
  const pieces = input.map(async (piece) =>
    "content" in piece
      ? { content: presentInternal(await unsealShown(piece.content, ownStore(viewer)), viewer) }
      : piece,
  );
  return { ...call, input: await Promise.all(pieces) };
}

async function presentChunk(
  { chunk, visibility }: EventPayloads["artifact.updated"],
  viewer: Onlooker,
): Promise<unknown> {
  const found = await unsealShown(chunk, ownStore(viewer));
  if (visibility === "public") return "erased" in found ? found.erased : found.value;
  return presentInternal(found, viewer, { type: "text", visibility });
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

/** What was said to a remote agent is internal; that something is still to be said is not. */
function presentHandoff<T extends HandoffChanges>({ outgoing, ...shown }: T): Wire {
  return outgoing == null ? shown : { ...shown, outgoing: { message_id: outgoing.message_id } };
}

/** What a host is asked with is internal, like what it gives. */
async function presentStarted(
  { host_call, handoff, model_call, tool_call, ...rest }: EventPayloads["span.started"],
  viewer: Onlooker,
): Promise<object> {
  if (model_call !== undefined) return { ...rest, model_call: await presentModelCall(model_call, viewer) };
  if (tool_call !== undefined) return { ...rest, tool_call: await presentToolCall(tool_call, viewer) };
  const { handoff_id, expires_at } = handoff ?? {};
  const span = handoff === undefined ? rest : { ...rest, handoff: { handoff_id, expires_at } };
  if (host_call === undefined) return span;
  const found = await unsealShown(host_call.input, ownStore(viewer));
  return { ...span, host_call: { ...host_call, input: presentInternal(found, viewer) } };
}

/** What a shell said of its surroundings, for those who may see it: what is not public is internal. */
async function presentTurn<T extends ShellTurn>(turn: T, viewer: Onlooker): Promise<object> {
  const { environment } = turn;
  if (environment === null || environment.tier === "secret") return turn;
  const found = await unsealShown(environment.state, ownStore(viewer));
  const isShown = environment.tier === "public" && "value" in found;
  const state = isShown ? found.value : presentInternal(found, viewer);
  return { ...turn, environment: { tier: environment.tier, state } };
}

/** What a step gave is the run's own business: internal. */
async function presentResult(result: StepResult, viewer: Onlooker): Promise<unknown> {
  if ("error" in result) return result;
  const output: Content<unknown> = result.output;
  return { output: presentInternal(await unsealShown(output, ownStore(viewer)), viewer) };
}

function presentInternal(
  found: { value: unknown } | { erased: JsonValue },
  viewer: Onlooker,
  described = { type: "json", visibility: "internal" },
): unknown {
  if ("erased" in found) return presentErased(found.erased, viewer);
  return seesInternal(viewer.caller) ? found.value : redacted(viewer, found.value, described);
}
