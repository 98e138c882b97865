/**
 * The bodies of the Harn Agents Protocol. One source for validation, for types and for `/openapi.json`.
 * Objects may carry fields that are not listed; they are ignored.
 */

import { type TProperties, type TSchema, Type } from "typebox";
import { errorTypes } from "../../kernel/core/errors.ts";
import { replayModes } from "../../kernel/kinds/replay.ts";
import { overrideKinds } from "../../kernel/replay/plan.ts";
import { waitKinds } from "../../kernel/tasks/explain/cause.ts";
import { taskTransitions } from "../../kernel/tasks/lifecycle.ts";
import { overlapSecondsDefault, overlapSecondsMax } from "../../policy/api-key.ts";
import { JwksSchema } from "../../receipts/keys.ts";
import { protocolVersion } from "./protocol.ts";
import {
  Envelope,
  Filter,
  Id,
  JsonObject,
  Limit,
  LongName,
  Metadata,
  Name,
  Nullable,
  Timestamp,
  textMax,
  Visibility,
} from "./schema-pieces.ts";
import { Compaction, Erasure, Trimmed } from "./schemas-session.ts";
import { Unsupported } from "./unsupported.ts";

export { Envelope, JsonObject, Metadata, Nullable, Timestamp };

const RoleSchema = Type.Enum(["user", "assistant", "system", "tool", "agent"]);

const PartOf = <P extends TProperties, T extends string>(type: T, properties: P) =>
  Type.Object({ type: Type.Literal(type), ...properties, visibility: Visibility });

export const Part = Type.Union([
  PartOf("text", { text: Type.String() }),
  PartOf("json", { value: Type.Unknown() }),
  PartOf("tool_call", { tool_call_id: Type.String(), name: Type.String(), input: JsonObject }),
  PartOf("tool_result", {
    tool_call_id: Type.String(),
    output: Type.Unknown(),
    status: Type.Enum(["ok", "error"]),
  }),
  PartOf("artifact_ref", { artifact_id: Type.String() }),
  PartOf("file_ref", { uri: Type.String(), mime_type: Type.String() }),
  PartOf("image_ref", { artifact_id: Type.String(), mime_type: Type.String() }),
]);

export const MessageInput = Type.Object({
  role: RoleSchema,
  parts: Type.Array(Part, { minItems: 1, maxItems: 1000 }),
  metadata: Type.Optional(Metadata),
});

/** What a caller who may not see a part gets in its place. */
const RedactedPart = Type.Object({
  redacted: Type.Literal(true),
  type: Type.String(),
  visibility: Visibility,
  sha256: Type.String(),
});

export const Message = Envelope("message", {
  workspace_id: Type.String(),
  session_id: Nullable(Type.String()),
  task_id: Nullable(Type.String()),
  role: RoleSchema,
  parts: Type.Array(Type.Union([Part, RedactedPart])),
});

export const Failure = Type.Object({
  code: Type.String(),
  message: Type.String(),
  details: Type.Optional(JsonObject),
});

export const TaskStatus = Type.Enum(Object.keys(taskTransitions));

export const Task = Envelope("task", {
  session_id: Type.String(),
  workspace_id: Type.String(),
  status: TaskStatus,
  input: Type.Union([Message, JsonObject]),
  created_by: Type.String(),
  persona_id: Nullable(Type.String()),
  branch_id: Nullable(Type.String()),
  parent_task_id: Nullable(Type.String()),
  assigned_agent_id: Nullable(Type.String()),
  receipt_id: Nullable(Type.String()),
  outcome_id: Nullable(Type.String()),
  quota_id: Nullable(Type.String()),
  started_at: Nullable(Timestamp),
  completed_at: Nullable(Timestamp),
  canceled_at: Nullable(Timestamp),
  failure: Nullable(Failure),
  replay: Nullable(
    Type.Object({
      source_task_id: Type.String(),
      mode: Type.Enum([...replayModes]),
      checkpoint: Nullable(Type.String()),
      allow_live: Type.Array(Type.String()),
      reason: Nullable(Type.String()),
    }),
  ),
  /** Of a retry: the task that it goes on from, and the first step that it does again. */
  retry_of: Type.Optional(Type.Object({ task_id: Type.String(), from_step: Nullable(Type.String()) })),
  waiting_for: Nullable(
    Type.Object({
      kind: Type.Enum(["input", "approval", "timer_or_child", "host", "remote_agent"]),
      description: Type.String(),
      permission_request_id: Nullable(Type.String()),
      schema: Nullable(JsonObject),
      until: Nullable(Timestamp),
      /** Of an approval that only a paired approver can give. */
      signature_required: Type.Optional(Type.Boolean()),
    }),
  ),
  trimmed: Type.Optional(Trimmed),
});

export const TaskExplanation = Type.Object({
  object: Type.Literal("task_explanation"),
  task_id: Type.String(),
  status: TaskStatus,
  sentence: Type.String(),
  since: Timestamp,
  until: Nullable(Timestamp),
  waits_for: Nullable(Type.Enum([...waitKinds])),
  what_helps: Type.Array(Type.String()),
  about: Type.Array(Type.Object({ object: Type.String(), id: Type.String() })),
  docs: Nullable(Type.String()),
});
export const SignalTaskRequest = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100 }),
  payload: Type.Optional(Type.Unknown()),
});
export const RetryTaskRequest = Type.Object({
  from_step: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })),
});
export const SubmitTaskRequest = Type.Object({
  session_id: Type.Optional(Id),
  workspace_id: Type.Optional(Id),
  persona_id: Type.Optional(Nullable(Id)),
  branch_id: Type.Optional(Nullable(Id)),
  parent_task_id: Type.Optional(Nullable(Id)),
  input: Type.Union([MessageInput, JsonObject]),
  metadata: Type.Optional(Metadata),
});
export const CancelTaskRequest = Type.Object({
  reason: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
});
const ReplayOverride = Type.Object({
  kind: Type.Enum([...overrideKinds]),
  event_id: Type.Optional(Nullable(Type.String({ maxLength: textMax }))),
  target: Type.Optional(Nullable(Type.String({ maxLength: textMax }))),
  value: Type.Optional(Type.Unknown()),
  artifact_id: Type.Optional(Nullable(Id)),
  sha256: Type.Optional(Nullable(Type.String({ pattern: "^sha256:[0-9a-f]{64}$" }))),
  visibility: Type.Optional(Visibility),
  reason: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 2000 }))),
});
export const ReplayTaskRequest = Type.Object({
  mode: Type.Optional(Type.Enum([...replayModes])),
  override: Type.Optional(Type.Record(Type.String(), ReplayOverride, { maxProperties: 1000 })),
  checkpoint_id: Type.Optional(Nullable(Id)),
  checkpoint_event_id: Type.Optional(Nullable(Id)),
  reason: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
  metadata: Type.Optional(
    Type.Object({
      allow_live: Type.Optional(Type.Array(Type.String(), { maxItems: 20 })),
      agent_version: Type.Optional(Type.String({ minLength: 1, maxLength: textMax })),
    }),
  ),
});
export const AppendMessageRequest = Type.Object({ message: MessageInput });
export const AppendTaskMessageRequest = Type.Object({
  kind: Type.Enum(["input", "interrupt", "tool_confirmation"]),
  message: MessageInput,
});

export const Session = Envelope("session", {
  workspace_id: Type.String(),
  state: Type.Enum(["ACTIVE", "IDLE", "PAUSED", "CLOSED", "FAILED"]),
  transcript: Type.String({ format: "uri-reference" }),
  persona_id: Nullable(Type.String()),
  root_session_id: Nullable(Type.String()),
  parent_session_id: Nullable(Type.String()),
  branch_id: Nullable(Type.String()),
  last_event_id: Nullable(Type.String()),
  summary: Nullable(Type.String()),
  expires_at: Nullable(Timestamp),
  memory_ids: Type.Array(Type.String()),
  skill_ids: Type.Array(Type.String()),
  vault_ids: Type.Array(Type.String()),
  compactions: Type.Array(Compaction),
  erasure: Nullable(Erasure),
  trimmed_through_event_id: Type.Optional(Type.String()),
});
export const CreateSessionRequest = Type.Object({
  workspace_id: Id,
  persona_id: Type.Optional(Nullable(Id)),
  memory_ids: Type.Optional(Type.Array(Id, { maxItems: 100 })),
  skill_ids: Type.Optional(Type.Array(Id, { maxItems: 100 })),
  initial_messages: Type.Optional(Type.Array(MessageInput, { maxItems: 1000 })),
  vault_ids: Type.Optional(Type.Array(Id, { maxItems: 100 })),
  expires_at: Type.Optional(Nullable(Timestamp)),
  metadata: Type.Optional(Metadata),
});
export const UpdateSessionRequest = Type.Object({
  state: Type.Optional(Type.Enum(["ACTIVE", "PAUSED"])),
  expires_at: Type.Optional(Nullable(Timestamp)),
  summary: Type.Optional(Nullable(Type.String())),
  metadata: Type.Optional(Metadata),
});
export const ForkSessionRequest = Type.Object({
  at_event_id: Type.Optional(Nullable(Type.String())),
  branch_id: Type.Optional(Nullable(Id)),
  metadata: Type.Optional(Metadata),
});
export const TruncateSessionRequest = Type.Object({
  keep_first: Type.Integer({ minimum: 0 }),
  reason: Type.Optional(Type.String({ maxLength: 2000 })),
});
export const TruncateSessionResponse = Type.Object({
  object: Type.Literal("session_truncate_result"),
  session_id: Type.String(),
  kept_turn_count: Type.Integer({ minimum: 0 }),
  removed_turn_count: Type.Integer({ minimum: 0 }),
  new_tip_turn_id: Nullable(Type.String()),
  session: Session,
});

const BranchKindSchema = Type.Enum(["workspace", "session", "task", "sandbox"]);
export const Branch = Envelope("branch", {
  workspace_id: Type.String(),
  kind: BranchKindSchema,
  base_ref: Type.String(),
  state: Type.Enum(["open", "merged", "abandoned"]),
  parent_branch_id: Nullable(Type.String()),
  session_id: Nullable(Type.String()),
  task_id: Nullable(Type.String()),
  worktree_uri: Nullable(Type.String()),
  created_by: Nullable(Type.String()),
  merged_into: Nullable(Type.String()),
});
export const CreateBranchRequest = Type.Object({
  kind: BranchKindSchema,
  base_ref: LongName,
  parent_branch_id: Type.Optional(Nullable(Id)),
  task_id: Type.Optional(Nullable(Id)),
  worktree_uri: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
  metadata: Type.Optional(Metadata),
});

const ArtifactKindSchema = Type.Enum([
  "file",
  "patch",
  "image",
  "log",
  "diff",
  "receipt",
  "snapshot",
  "dataset",
  "other",
]);
const Sha256 = Type.String({ pattern: "^[a-fA-F0-9]{64}$" });
export const Artifact = Envelope("artifact", {
  kind: ArtifactKindSchema,
  name: Nullable(Type.String()),
  mime_type: Type.String(),
  uri: Nullable(Type.String({ format: "uri-reference" })),
  visibility: Visibility,
  sha256: Nullable(Sha256),
  bytes: Nullable(Type.Integer({ minimum: 0 })),
  complete: Type.Boolean(),
  description: Type.Optional(Type.String()),
  extensions: Type.Optional(Type.Array(Type.String())),
  workspace_id: Nullable(Type.String()),
  session_id: Nullable(Type.String()),
  task_id: Nullable(Type.String()),
  receipt_id: Nullable(Type.String()),
});
export const RegisterArtifactRequest = Type.Object({
  kind: ArtifactKindSchema,
  mime_type: Name,
  uri: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
  visibility: Visibility,
  sha256: Type.Optional(Nullable(Sha256)),
  workspace_id: Type.Optional(Nullable(Id)),
  session_id: Type.Optional(Nullable(Id)),
  task_id: Type.Optional(Nullable(Id)),
  metadata: Type.Optional(Metadata),
});

export const Outcome = Envelope("outcome", {
  workspace_id: Type.String(),
  task_id: Type.String(),
  status: Type.Enum(["SUCCEEDED", "FAILED", "CANCELED"]),
  summary: Type.String(),
  messages: Type.Array(Message),
  artifacts: Type.Array(Artifact),
  receipt_id: Nullable(Type.String()),
  failure: Nullable(Failure),
});

export const Workspace = Envelope("workspace", {
  name: Type.String(),
  root: Type.String(),
  default_branch_id: Nullable(Type.String()),
  tenant_id: Nullable(Type.String()),
  capabilities: Type.Array(Type.String()),
  quota_id: Nullable(Type.String()),
  trimmed_through_event_id: Type.Optional(Type.String()),
});
/** What workspaces of other servers have; here it is the server's, and not a workspace's own. */
const foreignToWorkspaces = {
  host: Unsupported("Files are on the server."),
  repository: Unsupported("Set root to a directory that has the repository."),
  connectors: Unsupported("Create connectors with workspace_id."),
  network_policy: Unsupported("Restrict tools and hosts by the persona, addresses by --blocked-ranges."),
  sandbox_backend: Unsupported("Programs run in the sandbox of the server."),
  image: Unsupported("Programs run in the sandbox of the server."),
  packages: Unsupported("Install packages on the server."),
};
export const CreateWorkspaceRequest = Type.Object({
  name: Name,
  root: LongName,
  capabilities: Type.Optional(Type.Array(Type.String(), { maxItems: 200 })),
  quota_id: Type.Optional(Nullable(Id)),
  metadata: Type.Optional(Metadata),
  ...foreignToWorkspaces,
});
export const UpdateWorkspaceRequest = Type.Object({
  name: Type.Optional(Name),
  capabilities: Type.Optional(Type.Array(Type.String(), { maxItems: 200 })),
  quota_id: Type.Optional(Nullable(Id)),
  metadata: Type.Optional(Metadata),
  ...foreignToWorkspaces,
});

export const PermissionRequest = Envelope("permission_request", {
  workspace_id: Nullable(Type.String()),
  session_id: Nullable(Type.String()),
  task_id: Nullable(Type.String()),
  status: Type.Enum(["pending", "approved", "denied"]),
  source: Type.Enum(["acp", "hitl"]),
  action: Type.Unknown(),
  request: Type.Unknown(),
  response: Type.Unknown(),
  receipt_id: Nullable(Type.String()),
  expires_at: Timestamp,
  /** Who was asked for a signature, and what became of it. */
  approvers: Type.Array(
    Type.Object({
      approver_id: Type.String(),
      request_id: Type.String(),
      state: Type.String(),
      reason: Nullable(Type.String()),
      created_at: Timestamp,
      expires_at: Timestamp,
    }),
  ),
});
export const PermissionResponseRequest = Type.Object({
  approved: Type.Optional(Type.Boolean()),
  decision: Type.Optional(Type.Enum(["approved", "denied"])),
  outcome: Type.Optional(Type.Enum(["approved", "approve", "selected", "denied", "deny", "rejected"])),
  answer: Type.Optional(Type.Unknown()),
  reviewer: Type.Optional(Nullable(Name)),
  reason: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
  note: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
  /** The `artifact_hash` of the request that is answered: the answer is to that, or refused. */
  artifact_hash: Type.Optional(Type.String({ minLength: 1, maxLength: 71 })),
});

export const ApiKey = Envelope("api_key", {
  name: Type.String(),
  actor: Type.String(),
  scopes: Type.Array(Type.String()),
  workspace_ids: Nullable(Type.Array(Type.String())),
  agent_names: Type.Optional(Nullable(Type.Array(Type.String()))),
  persona_ids: Type.Optional(Nullable(Type.Array(Type.String()))),
  allowed_cidrs: Type.Optional(Nullable(Type.Array(Type.String()))),
  tenant_id: Type.String(),
  expires_at: Nullable(Timestamp),
  revoked_at: Nullable(Timestamp),
  last_used_at: Type.Optional(Timestamp),
  previous_key_expires_at: Type.Optional(
    Type.String({
      format: "date-time",
      description: "Until then the secret before the last rotation works.",
    }),
  ),
  created_by_key_id: Type.Optional(Type.String()),
  key: Type.Optional(Nullable(Type.String())),
});
const Ids = Type.Array(Type.String());
/** With what it made, and what the keys that it made made. A revocation ends those keys; a rotation ends nothing. */
export const ApiKeyWithMade = Type.Object({
  ...ApiKey.properties,
  made: Type.Object({ api_key_ids: Ids, persona_ids: Ids, schedule_ids: Ids, connector_ids: Ids }),
});
export const CreateApiKeyRequest = Type.Object({
  name: Name,
  actor: Name,
  scopes: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }),
  workspace_ids: Type.Optional(Nullable(Type.Array(Id, { minItems: 1, maxItems: 1000 }))),
  agent_names: Type.Optional(Nullable(Type.Array(Id, { minItems: 1, maxItems: 1000 }))),
  persona_ids: Type.Optional(Nullable(Type.Array(Id, { minItems: 1, maxItems: 1000 }))),
  allowed_cidrs: Type.Optional(Nullable(Type.Array(Id, { minItems: 1, maxItems: 100 }))),
  tenant_id: Type.Optional(Type.String({ pattern: "^tenant_[a-z0-9][a-z0-9-]{0,62}$" })),
  expires_at: Type.Optional(Nullable(Timestamp)),
});

export const AdminKey = Type.Object({
  object: Type.Literal("admin_key"),
  disabled_at: Nullable(Timestamp),
  key: Type.Optional(Nullable(Type.String())),
});

export const RotateApiKeyRequest = Type.Object({
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: overlapSecondsMax,
      default: overlapSecondsDefault,
      description: "How long the old secret still works; 0 ends it at once.",
    }),
  ),
});

export const WsTicket = Type.Object({
  object: Type.Literal("ws_ticket"),
  ticket: Type.String(),
  expires_at: Timestamp,
});

export const Event = Envelope("event", {
  event: Type.String(),
  resource: Type.Object({ object: Type.String(), id: Type.String() }),
  sequence: Type.Integer({ minimum: 0 }),
  payload: JsonObject,
  trace_id: Nullable(
    Type.String({ description: "The trace of its task, in the form of W3C Trace Context." }),
  ),
  span_id: Nullable(Type.String({ description: "The step that it is about, or else the task." })),
  parent_span_id: Nullable(Type.String()),
  session_id: Nullable(Type.String()),
  task_id: Nullable(Type.String()),
  workspace_id: Nullable(Type.String()),
  actor: Nullable(Type.String()),
  key_id: Type.Optional(Type.String({ description: "The API key that the actor used." })),
  previous_event_id: Nullable(Type.String()),
  receipt_id: Nullable(Type.String()),
  replayed: Type.Boolean(),
  replay: Nullable(
    Type.Object({
      source_task_id: Nullable(Type.String()),
      replay_task_id: Nullable(Type.String()),
      original_event_id: Nullable(Type.String()),
      replay_cursor: Nullable(Type.String()),
      mode: Type.Enum([...replayModes]),
      override_key: Type.Optional(Type.String()),
      receipt_delta_id: Type.Optional(Type.String()),
    }),
  ),
});

export const Health = Type.Object({
  ok: Type.Boolean(),
  status: Type.String(),
  reason: Type.Optional(
    Type.String({ description: "Why the server takes no new work, if its disk is the cause." }),
  ),
  version: Type.String(),
});
export const RuntimeVersion = Type.Object({
  object: Type.Literal("version"),
  version: Type.String(),
  protocol_version: Type.String(),
});
const Capability = Type.Object({ id: Type.String(), description: Type.String() });
export const CapabilitySummary = Type.Object({
  object: Type.Literal("capability_summary"),
  capabilities: Type.Array(Capability),
});
export const RuntimeMetadata = Type.Object({
  object: Type.Literal("runtime"),
  version: Type.String(),
  protocol_version: Type.String(),
  adapter: Type.String(),
  retention_days: Nullable(
    Type.Number({
      description: "How long what ended stays in the log and can be replayed; null is for ever.",
    }),
  ),
  session_count: Type.Integer({ minimum: 0 }),
  task_count: Type.Integer({ minimum: 0 }),
  capabilities: Type.Array(Capability),
});
export const Discovery = Type.Object({
  object: Type.Literal("protocol_discovery"),
  protocol_family: Type.Literal("harn_agents_protocol"),
  current_version: Type.Literal(protocolVersion),
  supported_versions: Type.Array(Type.String()),
  capabilities: Type.Record(Type.String(), Type.Boolean()),
  protocols: Type.Array(Type.Object({ id: Type.String(), version: Type.String(), path: Type.String() })),
});
export const HarnAgentCard = Envelope("harn_agent_card", {
  name: Type.String(),
  description: Type.String(),
  protocol_version: Type.String(),
  public_url: Type.String(),
  provider: Nullable(Type.Object({ organization: Type.String(), url: Type.String() })),
  capabilities: Type.Array(Type.String()),
  receipt_policy: Type.String({ description: "Of personas that do not say." }),
  a2a_card: JsonObject,
  skills: Type.Array(JsonObject),
  harn_interfaces: Type.Array(Type.Object({ transport: Type.String(), url: Type.String() })),
  auth_schemes: Type.Array(Type.String()),
  signature: Type.Object({
    algorithm: Type.Literal("ed25519"),
    key_id: Type.String(),
    value: Type.String(),
  }),
});

/** A tool call is `<task_id>/<step>`; `tool_use` is another name of it. */
export const RequestReceiptRequest = Type.Object({
  subject: Type.Object({
    object: Type.Enum(["outcome", "event", "artifact", "tool_call", "tool_use"]),
    id: Type.String({ minLength: 1, maxLength: 1000 }),
  }),
});
export const ReceiptProofQuery = Type.Object({
  tree_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 2 ** 40 })),
});
export const ReceiptProof = Type.Object({
  object: Type.Literal("receipt_proof"),
  receipt_id: Type.String(),
  receipt_hash: Type.String(),
  workspace_id: Type.String(),
  leaf_index: Type.Integer(),
  tree_size: Type.Integer(),
  merkle_root: Type.String(),
  path: Type.Array(Type.String()),
});
export const VerifyReceiptRequest = Type.Object({
  trust_anchor: Type.Optional(Nullable(Id)),
  at_time: Type.Optional(Nullable(Timestamp)),
});
/** The receipt alone, or with the keys to verify it with. What it is worth is for the verification to say. */
export const VerifyForeignReceiptRequest = Type.Union([
  Type.Object({ receipt: JsonObject, jwks: Type.Optional(JwksSchema) }),
  JsonObject,
]);
export const ReceiptVerification = Type.Object({
  object: Type.Literal("receipt_verification"),
  valid: Type.Boolean(),
  checked_at: Timestamp,
  reason: Nullable(Type.String()),
  details: Type.Object({
    checks: Type.Array(
      Type.Object({
        name: Type.String(),
        ok: Nullable(Type.Boolean()),
        expected: Nullable(Type.String()),
        found: Nullable(Type.String()),
        message: Type.String(),
      }),
    ),
  }),
});
/** JSON lines; what is in them is checked as they are read. */
export const LogLines = Type.Unknown();
export const SigningKey = Envelope("signing_key", {
  jwk: JsonObject,
  issuer_id: Type.String(),
  retired_at: Nullable(Timestamp),
});

export const ErrorResponse = Type.Object({
  error: Type.Object({
    code: Type.Enum(Object.keys(errorTypes)),
    message: Type.String(),
    type: Type.Enum([...new Set(Object.values(errorTypes))]),
    param: Nullable(Type.String()),
    request_id: Nullable(Type.String()),
    details: JsonObject,
  }),
});

export const ListOf = <S extends TSchema>(item: S) =>
  Type.Object({
    object: Type.Literal("list"),
    data: Type.Array(item),
    page: Type.Object({ next_cursor: Nullable(Type.String()), has_more: Type.Boolean() }),
  });

export const PageQuery = Type.Object({ limit: Limit, cursor: Type.Optional(Type.String()) });
type FilterName = "workspace_id" | "session_id" | "task_id";
/** A page of a list that can be filtered by these, and by nothing else. */
export function pageQuery<Names extends FilterName>(...names: Names[]) {
  const filters = Object.fromEntries(names.map((name) => [name, Filter])) as Record<Names, typeof Filter>;
  return Type.Object({ ...PageQuery.properties, ...filters });
}
export const TaskListQuery = Type.Object({
  ...pageQuery("workspace_id", "session_id").properties,
  status: Type.Optional(TaskStatus),
  agent: Filter,
  since: Type.Optional(Timestamp),
});
export const LogRangeQuery = Type.Object({
  limit: Limit,
  cursor: Type.Optional(Type.String()),
  after_event_id: Type.Optional(Type.String()),
});
export const EventRangeQuery = Type.Object({
  ...LogRangeQuery.properties,
  event: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2000,
      description: "Only these kinds of events, with commas between them: `task.completed,task.failed`.",
    }),
  ),
});
export const EventFilterQuery = Type.Object({
  ...EventRangeQuery.properties,
  workspace_id: Filter,
  session_id: Filter,
  task_id: Filter,
});
