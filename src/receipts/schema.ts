/**
 * What a receipt may hold. Accepts exactly what the protocol's JSON schema for receipts accepts; a member that it does
 * not name makes a receipt invalid, so nothing can ride along unsigned.
 */

import { type Static, type TProperties, type TSchema, Type } from "typebox";
import { sha256Pattern } from "../web/canonical-json.ts";

export const receiptSchemaVersion = "receipt-2026-04-25";

const Text = Type.String({ minLength: 1 });
const Sha256 = Type.String({ pattern: sha256Pattern });
const Sha256OrNull = Type.Union([Sha256, Type.Null()]);
const Count = Type.Integer({ minimum: 0 });
const Amount = Type.Number({ minimum: 0 });
const FreeForm = Type.Unsafe<Record<string, unknown>>(Type.Object({}));
const FreeFormOrNull = Type.Union([FreeForm, Type.Null()]);

/** The format alone would also let through a time zone's name in brackets, which RFC 3339 does not know. */
const DateTime = Type.String({
  format: "date-time",
  pattern: "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2})$",
});

function closed<P extends TProperties>(properties: P, rules: { anyOf?: { required: string[] }[] } = {}) {
  return Type.Object(properties, { additionalProperties: false, ...rules });
}

function optional<S extends TSchema>(schema: S) {
  return Type.Optional(schema);
}

const TrustTier = Type.Enum(["shadow", "suggest", "act_with_approval", "act_auto"]);

const Subject = closed({
  object: Type.Enum(["task", "outcome", "event", "artifact", "approval", "tool_call", "replay_segment"]),
  id: Text,
});

const Issuer = closed({
  id: Text,
  kind: Type.Enum(["harness", "host", "agent", "connector"]),
  name: optional(Text),
  version: optional(Text),
  public_key_id: optional(Text),
});

const Identifiers = closed({
  tenant_id: optional(Text),
  persona_ref: optional(Text),
  workspace_ref: Text,
  session_id: Text,
  task_id: Text,
  branch_id: optional(Text),
  trace_id: optional(Text),
});

const Lifecycle = closed({
  created_at: optional(DateTime),
  started_at: DateTime,
  completed_at: DateTime,
  final_state: Type.Enum(["SUCCEEDED", "FAILED", "CANCELED"]),
  failure: optional(FreeFormOrNull),
});

const ApprovalSchema = closed({
  approval_id: optional(Text),
  actor: Text,
  action: Text,
  decision: Type.Enum(["approved", "denied", "canceled", "timeout"]),
  decided_at: DateTime,
  quorum_proof: optional(FreeFormOrNull),
  evidence_hash: optional(Sha256),
});

const BudgetAmount = closed({
  usd: optional(Amount),
  input_tokens: optional(Count),
  output_tokens: optional(Count),
  tool_calls: optional(Count),
  wall_time_ms: optional(Count),
});

/** A material is found by its address, carried along, or only described. */
const ReplayMaterialSchema = closed(
  {
    kind: Type.Enum(["llm_provider_response", "mcp_tool_return", "event_log", "artifact", "host_fact"]),
    id: optional(Text),
    uri: optional(Text),
    sha256: optional(Sha256),
    content_type: optional(Text),
    bytes_base64: optional(Text),
    metadata: optional(FreeForm),
  },
  {
    anyOf: [
      { required: ["uri", "sha256"] },
      { required: ["bytes_base64", "sha256"] },
      { required: ["metadata"] },
    ],
  },
);

const ModelRefSchema = closed({
  provider: Text,
  model: Text,
  version: optional(Text),
  reason: optional(Text),
});

const ProviderCostSchema = closed({
  provider: Text,
  model: optional(Text),
  amount: Amount,
  input_tokens: optional(Count),
  output_tokens: optional(Count),
  metadata: optional(FreeForm),
});

const FileWriteSchema = closed({
  path: Text,
  operation: Type.Enum(["create", "modify", "delete", "rename"]),
  before_sha256: optional(Sha256OrNull),
  after_sha256: optional(Sha256OrNull),
});

const NetworkEgressSchema = closed({
  destination: Text,
  purpose: Text,
  bytes_sent: optional(Count),
  metadata: optional(FreeForm),
});

const ToolCallSchema = closed({
  tool: Text,
  call_id: Text,
  status: Type.Enum(["succeeded", "failed", "canceled"]),
  input_hash: optional(Sha256),
  output_hash: optional(Sha256),
  metadata: optional(FreeForm),
});

const HandoffSchema = closed({
  target_agent: Text,
  task_id: Text,
  status: Type.Enum(["accepted", "rejected", "failed", "completed"]),
  receipt_id: optional(Text),
});

const ArtifactRefSchema = closed({
  artifact_id: Text,
  kind: Text,
  uri: optional(Text),
  sha256: optional(Sha256),
});

const ReceiptDeltaSchema = closed({
  delta_id: optional(Text),
  operation: Type.Enum(["add", "replace", "remove"]),
  path: Text,
  override_key: optional(Text),
  event_id: optional(Text),
  before_sha256: optional(Sha256OrNull),
  after_sha256: optional(Sha256OrNull),
  artifact_id: optional(Text),
  reason: optional(Text),
});

const RedactionSchema = closed({ field: Text, reason: Text, proof_hash: optional(Sha256) });

const ReceiptSignatureSchema = closed({
  key_id: Text,
  algorithm: Text,
  signature: Text,
  signed_at: optional(DateTime),
});

const Chain = closed({
  previous_receipt_hash: Sha256OrNull,
  receipt_hash: Sha256,
  merkle_root: optional(Sha256),
});

export const ReceiptSchema = closed({
  schema: Type.Literal(receiptSchemaVersion),
  receipt_id: Text,
  subject: Subject,
  issuer: Issuer,
  issued_at: DateTime,
  identifiers: Identifiers,
  lifecycle: Lifecycle,
  approvals: optional(Type.Array(ApprovalSchema)),
  trust: closed({ start_tier: TrustTier, end_tier: TrustTier, policy_ref: optional(Text) }),
  autonomy_budget: closed({ limit: optional(BudgetAmount), consumed: BudgetAmount }),
  replay_input: closed({
    determinism: Type.Enum(["byte_deterministic", "best_effort", "unavailable"]),
    materials: Type.Array(ReplayMaterialSchema),
    unavailable_reason: optional(Text),
  }),
  model_route: closed({
    chosen_model: ModelRefSchema,
    alternatives_considered: Type.Array(ModelRefSchema),
    route_policy_reason: Text,
  }),
  cost: closed({
    currency: Type.String({ pattern: "^[A-Z]{3}$" }),
    total: Amount,
    provider_breakdown: Type.Array(ProviderCostSchema),
  }),
  side_effects: closed({
    fs_writes: Type.Array(FileWriteSchema),
    network_egress: Type.Array(NetworkEgressSchema),
    tool_calls: Type.Array(ToolCallSchema),
    a2a_handoffs: Type.Array(HandoffSchema),
  }),
  final_artifacts: Type.Array(ArtifactRefSchema),
  deltas: optional(Type.Array(ReceiptDeltaSchema)),
  chain: Chain,
  redactions: optional(Type.Array(RedactionSchema)),
  signatures: optional(Type.Array(ReceiptSignatureSchema)),
  metadata: optional(FreeForm),
});

export type Receipt = Static<typeof ReceiptSchema>;
export type Approval = Static<typeof ApprovalSchema>;
export type ReplayMaterial = Static<typeof ReplayMaterialSchema>;
export type ModelRef = Static<typeof ModelRefSchema>;
export type ProviderCost = Static<typeof ProviderCostSchema>;
export type FileWrite = Static<typeof FileWriteSchema>;
export type NetworkEgress = Static<typeof NetworkEgressSchema>;
export type ToolCall = Static<typeof ToolCallSchema>;
export type Handoff = Static<typeof HandoffSchema>;
export type ArtifactRef = Static<typeof ArtifactRefSchema>;
export type ReceiptDelta = Static<typeof ReceiptDeltaSchema>;
export type Redaction = Static<typeof RedactionSchema>;
