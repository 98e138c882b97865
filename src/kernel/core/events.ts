/**
 * Every fact that can be recorded, with the shape of its payload. Names are the protocol's; what it has no name for is
 * under `vendor.bridle.`. A payload holds all that folding the event needs, and nothing that is not a fact.
 */

import type { ApproverKey } from "../../harp/core/approver-key.ts";
import type { AuditRecord } from "../../harp/core/audit.ts";
import type { Decision } from "../../harp/core/decision.ts";
import type { WrappedKey } from "../../policy/vault-crypto.ts";
import type { JsonObject, JsonValue, NewEvent, Position, StoredEvent } from "../../store/port.ts";
import type { ApiKeyRecord } from "../kinds/api-key.ts";
import type { ApprovalAuditRecord } from "../kinds/approval-audit.ts";
import type { ApprovalNonceRecord } from "../kinds/approval-nonce.ts";
import type { ApproverRegistryRecord } from "../kinds/approver-registry.ts";
import type { ArtifactRecord } from "../kinds/artifact.ts";
import type { AuditRecorded } from "../kinds/audit-log.ts";
import type { BranchChanges, BranchRecord } from "../kinds/branch.ts";
import type { ConnectorChanges, ConnectorRecord } from "../kinds/connector.ts";
import type { Exchange } from "../kinds/exchange.ts";
import type { HandoffChanges, HandoffRecord, Outgoing, RemoteReceipt } from "../kinds/handoff.ts";
import type { HarpPromptRecord } from "../kinds/harp-prompt.ts";
import type { HarpSessionRecord, HarpSessionTold } from "../kinds/harp-session.ts";
import type { MemoryChanges, MemoryDeletion, MemoryRecord, MemoryScope } from "../kinds/memory.ts";
import type { MessageRecord } from "../kinds/message.ts";
import type { ModelCallBegun, ModelCallEnded } from "../kinds/model-call.ts";
import type { Failure, Outcome } from "../kinds/outcome.ts";
import type {
  ApprovalUse,
  PermissionRequestRecord,
  PermissionResponse,
} from "../kinds/permission-request.ts";
import type { PendingChange, PersonaChanges, PersonaRecord } from "../kinds/persona.ts";
import type { ChangeOutcome, PolicyChangeRecord } from "../kinds/policy-change.ts";
import type { PushAttemptFailed, PushConfigRecord, PushDelivered, PushGaveUp } from "../kinds/push-config.ts";
import type { Amounts, Budget, QuotaChanges, QuotaExhausted, QuotaRecord } from "../kinds/quota.ts";
import type { ReceiptIssued } from "../kinds/receipt.ts";
import type { ReplayMark, ReplayMode } from "../kinds/replay.ts";
import type { ImportMark, Visibility } from "../kinds/resource.ts";
import type { ScheduleFired, ScheduleRecord } from "../kinds/schedule.ts";
import type {
  Compaction,
  Erasure,
  SessionChanges,
  SessionRecord,
  TranscriptRange,
} from "../kinds/session.ts";
import type { ShellLinkRecord, ShellTurn, ToldTurn } from "../kinds/shell-link.ts";
import type { SigningKeyRecord } from "../kinds/signing-key.ts";
import type { SkillFields, SkillRecord } from "../kinds/skill.ts";
import type { Parked, PendingRequest, StepResult, TaskRecord } from "../kinds/task.ts";
import type { AdminKeyChange, TenantRecord } from "../kinds/tenant.ts";
import type { VaultRecord, VaultSecret } from "../kinds/vault.ts";
import type { WorkspaceChanges, WorkspaceRecord } from "../kinds/workspace.ts";
import type { RequestedSubject } from "../receipts/subjects.ts";
import type { TaskStatus } from "../tasks/lifecycle.ts";
import type { Content } from "./content.ts";
import { HarnessError } from "./errors.ts";

/** What the code of a step reaches out to: anything, a model, an MCP server, the host, a secret. */
export type StepKind = "step" | "llm" | "mcp" | "host" | "secret";
/** What a run does with the files of its workspace. */
export type FileStepKind = "file" | "file_read" | "file_list";

/** What the persona's autonomy made of a side effect that was not carried out. */
export interface Simulated {
  tier: "shadow" | "suggest";
  /** What would have been done. */
  intent: Content<JsonValue>;
  /** The proposal that stands for it. */
  artifact_id: string | null;
}

/** A step of a run, as its span events describe it. `step` is its stable key. */
export interface StepSpan {
  step: string;
  kind:
    | StepKind
    | FileStepKind
    | "tool"
    | "conversation"
    | "effect"
    | "spend"
    | "sleep"
    | "spawn"
    | "handoff"
    | "time"
    | "random"
    | "checkpoint"
    | "progress"
    | "ask"
    | "signal"
    | "approve"
    | "memory";
  name: string;
}

/** Of a step that waited for a remote agent: whether that was the last of it, and what the remote came to. */
export interface HandoffEnding {
  handoff_id: string;
  is_over: boolean;
  state?: string;
  receipt?: RemoteReceipt;
}

/** How much left the log, and the last event among it: a cursor before that one cannot be continued from. */
export interface Trimmed {
  through_event_id: string;
  event_count: number;
}

/** What a tool was given, and whether that can be undone. */
export interface ToolCallInput {
  input: Content<JsonValue>;
  effect: "none" | "reversible" | "irreversible";
  /** What the model that asked for the call names it by, where one did. */
  call_id?: string;
}

/** Which tool call of a task an event is about. The step is that of its span. */
export interface ToolNamed {
  step: string;
  kind: "tool" | "mcp";
  /** Of a tool of an MCP server: `server.tool`. */
  name: string;
  /** What the model names the call by; the step, where the agent's own code makes it. */
  tool_call_id: string;
}

/** Where the code of a step sent something, and how often. No paths, no content. */
export interface NetworkUse {
  /** Of the requests: https, http; tcp for a connection of any other protocol. */
  protocol: string;
  host: string;
  port: number;
  requests: number;
}

/** A piece of what a model says, told while it says it. The record of the step has all of it. */
export interface ModelDelta {
  step: string;
  /** Counts the attempts at the call: a later one starts from the beginning. */
  attempt: number;
  index: number;
  type: "text" | "reasoning";
  text: Content<string>;
  /** Public when it is meant for whoever talks to the agent; otherwise it is the run's own business. */
  visibility: "public" | "internal";
}

/** `budget` is what the quotas allowed, for the receipt. */
type TaskEnded = { outcome: Outcome; budget?: Budget };

type MessageAppended = { message: MessageRecord; step?: string };

export interface EventPayloads {
  "vendor.bridle.tenant.created": { tenant: TenantRecord };
  "vendor.bridle.workspace.created": { workspace: WorkspaceRecord };
  "vendor.bridle.workspace.updated": { changes: WorkspaceChanges };
  "vendor.bridle.workspace.file_written": {
    path: string;
    sha256: string;
    bytes: number;
    metadata: JsonObject;
  };
  "vendor.bridle.persona.created": { persona: PersonaRecord };
  "vendor.bridle.persona.updated": { changes: PersonaChanges };
  "vendor.bridle.persona.change_requested": { pending_change: PendingChange };
  "vendor.bridle.persona.change_settled": { change_id: string };
  "vendor.bridle.tenant.quota_added": { quota_id: string; scope: "tenant" | "organization" };
  "vendor.bridle.tenant.quota_removed": { quota_id: string };
  /** About the default tenant, whose administrator runs the server. */
  "vendor.bridle.tenant.admin_key_changed": { change: AdminKeyChange };

  "vendor.bridle.quota.created": { quota: QuotaRecord };
  "vendor.bridle.quota.updated": { changes: QuotaChanges };
  "vendor.bridle.quota.deleted": Record<string, never>;
  "vendor.bridle.quota.reset": { next: string | null };
  "vendor.bridle.quota.task_admitted": { task_id: string; minute: { since: string; tasks: number } };
  "vendor.bridle.quota.task_ended": { task_id: string; amounts: Amounts; receipt_id: string | null };
  "vendor.bridle.quota.reserved": { key: string; amounts: Amounts };
  "vendor.bridle.quota.settled": { key: string; amounts: Amounts };
  /** Told of the quota, and of the task that came to its limit. */
  "vendor.bridle.quota.exhausted": QuotaExhausted;
  "vendor.bridle.quota.recovered": Record<string, never>;
  /** A person let the task go on beyond the limit. */
  "vendor.bridle.quota.granted": { quota_id: string };

  "vendor.bridle.schedule.created": { schedule: ScheduleRecord };
  "vendor.bridle.schedule.stopped": Record<string, never>;
  "vendor.bridle.schedule.fired": ScheduleFired;
  "vendor.bridle.schedule.moved": { next_at: string | null };

  "vendor.bridle.api_key.created": { api_key: ApiKeyRecord };
  "vendor.bridle.api_key.revoked": Record<string, never>;
  "vendor.bridle.api_key.rotated": { hash: string; previous: { hash: string; until: string } | null };
  "vendor.bridle.api_key.used": Record<string, never>;

  "session.created": { session: SessionRecord };
  "vendor.bridle.session.updated": { changes: SessionChanges };
  "session.closed": Record<string, never>;
  "session.message_appended": { message_id: string; role: string };
  "session.truncated": {
    kept_turn_count: number;
    removed_turn_count: number;
    new_tip_turn_id: string | null;
    reason: string | null;
    ranges: TranscriptRange[];
  };
  "session.compacted": { compaction: Compaction; ranges: TranscriptRange[] };
  "vendor.bridle.session.erasure_requested": { erasure: Erasure };
  "vendor.bridle.session.erased": { event_count: number };
  "vendor.bridle.tenant.erasure_requested": { erasure: Erasure };
  "vendor.bridle.tenant.erased": { session_count: number };
  /** Old work left the log: what is kept of its tasks, and where the last of it stood. */
  "vendor.bridle.session.trimmed": Trimmed & { tasks: TaskRecord[] };
  "vendor.bridle.workspace.trimmed": Trimmed;
  "vendor.bridle.log.trimmed": Trimmed;
  "session.thread_forked": { session_id: string; branch_id: string; at_event_id: string };
  "session.thread_merged": {
    session_id: string;
    branch_id: string;
    into_branch_id: string;
    tip_event_id: string | null;
    into_tip_event_id: string | null;
  };

  "user.message": MessageAppended;
  "agent.message": MessageAppended;
  /** Roles that the protocol gives no message event of their own: system and tool. */
  "vendor.bridle.message": MessageAppended;

  /** Work goes to another persona, as a task of its own, or to a remote agent, which has taken it. */
  "agent.handoff": { step: string; task_id: string } & ({ persona_id: string } | { url: string });
  "vendor.bridle.handoff.created": { handoff: HandoffRecord };
  "vendor.bridle.handoff.updated": { changes: HandoffChanges };

  "branch.created": { branch: BranchRecord };
  "branch.updated": { changes: BranchChanges };
  /** The last events of the two sessions when they were merged; null where a branch is not of a session. */
  "branch.merged": { into_branch_id: string; tip_event_id: string | null; into_tip_event_id: string | null };
  "branch.abandoned": { reason: string | null };

  "artifact.created": { artifact: ArtifactRecord; step?: string };
  "artifact.updated": {
    artifact_id: string;
    index: number;
    chunk: Content<string>;
    /** Set with the last chunk: what the whole content is. */
    completed: { sha256: string; bytes: number; is_erased?: true } | null;
    visibility: Visibility;
    step: string;
  };

  /** A message refers to it. */
  "artifact.linked": { artifact_id: string; message_id: string; session_id: string };
  /** Its content was erased with its session. */
  "artifact.redacted": { artifact_id: string };

  "task.submitted": { task: TaskRecord };
  "task.started": { agent: { name: string; version: string } };
  "task.status_changed": { from: TaskStatus; to: TaskStatus; reason: string | null };
  "task.input_required": { request: PendingRequest };
  "task.auth_required": { request: PendingRequest };
  "task.completed": TaskEnded;
  "task.failed": TaskEnded & { failure: Failure };
  "task.canceled": TaskEnded & { reason: string | null };
  /** `answer` stands for the message in a replay that was given another one. */
  "user.input_submitted": { step: string; message_id: string; answer?: JsonValue };
  "user.cancel_requested": { reason: string | null };
  "user.tool_confirmation": {
    step: string;
    request_id: string;
    approved: boolean;
    reason: string | null;
    /** The input that was approved in place of the one that was asked for. */
    modified_input?: JsonValue;
  };

  "tool.approval_required": { permission_request: PermissionRequestRecord };
  "tool.approved": { response: PermissionResponse; receipt_id: string | null };
  "tool.denied": { response: PermissionResponse; receipt_id: string | null };

  /** The agent wants a tool called, and what it was given in the end. */
  "agent.tool_use": ToolNamed & { input: Content<JsonValue> };
  "agent.mcp_tool_use": ToolNamed & { input: Content<JsonValue> };
  "agent.tool_result": ToolNamed & {
    status: "ok" | "error";
    output: Content<JsonValue> | null;
    error?: { code: string; message: string };
    /** The persona's autonomy did not let it be called; the output stands for what it would have given. */
    simulated?: true;
  };
  "tool.requested": ToolNamed & { effect: ToolCallInput["effect"] };
  "tool.completed": ToolNamed;
  "tool.failed": ToolNamed & { error: { code: string; message: string } };

  /** An approver is asked; then the gateway has it; then it is decided, or over. All of it is about a permission request or a policy change. */
  "vendor.bridle.approval.requested": { exchange: Exchange };
  "vendor.bridle.approval.submitted": { request_id: string };
  "vendor.bridle.approval.delayed": { request_id: string; problem: string };
  "vendor.bridle.approval.decided": { request_id: string; decision: Decision; nonce: ApprovalNonceRecord };
  "vendor.bridle.approval.closed": { request_id: string; reason: string };
  /** The gateway knows that it is over. */
  "vendor.bridle.approval.settled": { request_id: string };
  /** On disk before what was approved is done. */
  "vendor.bridle.approval.used": { use: ApprovalUse };

  /** A change that approvers have to agree to; in one commit with what comes of it. */
  "vendor.bridle.policy_change.requested": { policy_change: PolicyChangeRecord };
  "vendor.bridle.policy_change.settled": { outcome: ChangeOutcome };

  "vendor.bridle.approvers.created": { approver_registry: ApproverRegistryRecord };
  "vendor.bridle.approvers.changed": { keys: ApproverKey[]; mac: string };
  "vendor.bridle.approvals.audit_begun": { approval_audit: ApprovalAuditRecord };
  "vendor.bridle.approvals.audited": { record: AuditRecord };

  /** In the commit of the change that it is about. */
  "vendor.bridle.audit.recorded": AuditRecorded;

  /** In the commit with the message and the task that the prompt became. */
  "vendor.bridle.harp_prompt.delivered": { harp_prompt: HarpPromptRecord };
  "vendor.bridle.harp_session.begun": { harp_session: HarpSessionRecord };
  "vendor.bridle.harp_session.told": HarpSessionTold;

  "span.started": StepSpan & {
    until?: string;
    child_task_id?: string;
    /** What a host is asked to do; nothing but its answer or the time ends the step. */
    host_call?: { call_id: string; input: Content<JsonValue>; expires_at: string };
    /** What a remote agent is told; null when it is only waited for. */
    handoff?: { handoff_id: string; message: Outgoing | null; expires_at: string };
    model_call?: ModelCallBegun;
    tool_call?: ToolCallInput;
  };
  "span.updated": {
    step?: string;
    message?: string;
    percent?: number;
    /** What a shell is to show, without anybody waiting for it. */
    directive?: Content<JsonObject>;
    delta?: ModelDelta;
    parked?: Parked;
    /** The step whose answer, recorded before by somebody else, the run has seen only now. */
    given?: string;
  };
  "span.completed": StepSpan & {
    result: StepResult;
    /** When its code began, also where that was no reason for a record of its own. */
    started_at?: string;
    /** Of a spawned task: how it ended. */
    child?: { status: Outcome["status"]; receipt_id: string | null };
    /** Of a host call: set when it was the host that ended the step, and not the run itself. */
    call_id?: string;
    /** Of a secret: the vault it came from. */
    /** Which signal was taken from the task. */
    signal_id?: string;
    from_vault?: { vault_id: string; version: number };
    handoff?: HandoffEnding;
    simulated?: Simulated;
    /** What the step used of the budget, beside counting as a call. */
    spent?: Amounts;
    model_call?: ModelCallEnded;
    tool_call?: ToolCallInput;
    network?: NetworkUse[];
    /** Of a model call by the agent's own code: which model it says that it calls. */
    declared_model?: string;
    /** How many there were, when the first was not enough. */
    attempts?: number;
  };
  "span.failed": StepSpan & {
    attempts?: number;
    /** Where it was thrown, and its causes. */
    stack?: Content<string>;
    result: StepResult;
    started_at?: string;
    call_id?: string;
    handoff?: HandoffEnding;
    simulated?: Simulated;
    spent?: Amounts;
    model_call?: ModelCallEnded;
    tool_call?: ToolCallInput;
    network?: NetworkUse[];
    declared_model?: string;
  };
  /** Somebody sent the task something that its code waits for, now or later. */
  "vendor.bridle.signal.received": { signal_id: string; name: string; payload: Content<JsonValue> };
  /** An attempt at a step failed, and there is another one at `retry_at`. */
  "vendor.bridle.step.attempt_failed": StepSpan & {
    attempt: number;
    error: { code: string; message: string };
    retry_at: string;
    delay_ms: number;
    stack?: Content<string>;
    network?: NetworkUse[];
  };
  /** A tool gave something after its time was over, or after the task was: it is known, and nothing is made of it. */
  "vendor.bridle.step.late_result": StepSpan & { result: StepResult };

  /** Somebody wants the receipt of a part of what the task did. */
  "vendor.bridle.receipt.requested": { receipt_id: string; subject: RequestedSubject };
  "receipt.issued": ReceiptIssued;
  /** A receipt of another server, taken over with the log that it is about. */
  "vendor.bridle.receipt.imported": ReceiptIssued;
  "receipt.verified": { checks: JsonObject };
  "receipt.verification_failed": { checks: JsonObject };
  "replay.started": { source_task_id: string; mode: ReplayMode; override_keys: string[] };
  "replay.completed": { source_task_id: string; replayed_events: number; substituted_steps: number };
  "replay.failed": { source_task_id: string; failure: Failure };
  "session.replayed": { through_event_id: string };

  "vendor.bridle.memory.created": { memory: MemoryRecord };
  "vendor.bridle.memory.updated": { changes: MemoryChanges };
  "vendor.bridle.memory.deleted": { reason: MemoryDeletion };
  /** Beside the record of the step, which holds what was read. */
  "agent.memory_read": { step: string; key: string | null; query: string | null; memory_ids: string[] };
  "agent.memory_write": {
    step: string;
    key: string;
    memory_id: string;
    scope: MemoryScope;
    owner_id: string;
  };

  "vendor.bridle.skill.created": { skill: SkillRecord };
  "vendor.bridle.skill.updated": { changes: Partial<SkillFields> };
  "vendor.bridle.skill.deleted": Record<string, never>;

  "vendor.bridle.connector.created": { connector: ConnectorRecord };
  "vendor.bridle.connector.updated": { changes: ConnectorChanges };
  "vendor.bridle.connector.deleted": Record<string, never>;
  /** The same data key, under another master key. */
  "vendor.bridle.connector.data_key_rewrapped": { data_key: WrappedKey };
  "connector.delivery_received": {
    delivery_id: string;
    webhook_id: string;
    bytes: number;
    sha256: string;
  };
  "connector.delivery_deduped": { delivery_id: string; webhook_id: string; task_ids: string[] };
  /** With what was delivered, where the connector emits events and nothing else. */
  "connector.normalized": {
    delivery_id: string;
    event_kind: string | null;
    status: "accepted" | "ignored";
    content?: Content<JsonObject>;
  };
  "connector.task_submitted": { delivery_id: string; task_id: string; session_id: string };
  "connector.failed": { webhook_id: string; code: string; reason: string };
  "vendor.bridle.vault.created": { vault: VaultRecord };
  "vendor.bridle.vault.secret_set": { entry: VaultSecret };
  "vendor.bridle.vault.secret_deleted": { name: string; version: number };
  /** The vault has another data key, and every secret is sealed again with it. */
  "vendor.bridle.vault.data_key_rotated": { data_key: WrappedKey; secrets: VaultSecret[]; serial: number };
  /** The same data key, under another master key. */
  "vendor.bridle.vault.data_key_rewrapped": { data_key: WrappedKey };

  "vendor.bridle.push_config.created": { push_config: PushConfigRecord };
  /** Another one under the same name, which goes on where the one before was. */
  "vendor.bridle.push_config.replaced": { push_config: PushConfigRecord };
  "vendor.bridle.push_config.deleted": Record<string, never>;
  "vendor.bridle.push_config.delivered": PushDelivered;
  "vendor.bridle.push_config.attempt_failed": PushAttemptFailed;
  "vendor.bridle.push_config.gave_up": PushGaveUp;
  "vendor.bridle.push_config.data_key_rewrapped": { data_key: WrappedKey };

  "vendor.bridle.shell_link.created": { shell_link: ShellLinkRecord };
  "vendor.bridle.shell_link.turn_taken": { turn: ShellTurn };
  "vendor.bridle.shell_link.turn_answered": { told: ToldTurn };

  "vendor.bridle.signing_key.created": { signing_key: SigningKeyRecord };
  "vendor.bridle.signing_key.retired": Record<string, never>;
}

export type EventKind = keyof EventPayloads;

/** An event whose payload is known by its name. */
export type KernelEvent = {
  [Kind in EventKind]: Omit<NewEvent, "event" | "payload" | "replay"> & {
    event: Kind;
    payload: EventPayloads[Kind];
    replay?: ReplayMark;
    imported?: ImportMark;
  };
}[EventKind];

/**
 * A stored event, typed. The log is written by this kernel only and every payload was checked by the compiler when it
 * was emitted, so reading it back is trust in ourselves, not in a caller.
 */
export function asKernelEvent(event: NewEvent): KernelEvent {
  return event as KernelEvent;
}

/** The same with its place in the log. */
export type RecordedEvent = KernelEvent & { position: Position };

export function asRecorded(event: StoredEvent): RecordedEvent {
  return event as RecordedEvent;
}

/** The events with which a task is over. */
export const terminalEvents: ReadonlySet<string> = new Set<EventKind>([
  "task.completed",
  "task.failed",
  "task.canceled",
]);

/** Those with which it waits for a person. */
export const askingEvents: ReadonlySet<string> = new Set<EventKind>([
  "task.input_required",
  "task.auth_required",
]);

const idPattern = /^evt_([0-9]{16})$/;

/** An event's id is its position, written so that ids sort as positions do. */
export function eventId(position: Position): string {
  return `evt_${String(position).padStart(16, "0")}`;
}

/** Null for what is no event id at all. */
export function findPosition(id: string): Position | null {
  const digits = idPattern.exec(id)?.[1];
  return digits === undefined ? null : Number(digits);
}

export function positionOf(id: string, param: string): Position {
  const position = findPosition(id);
  if (position !== null) return position;
  throw new HarnessError("invalid_request", `${JSON.stringify(id)} is not an event id.`, { param });
}
