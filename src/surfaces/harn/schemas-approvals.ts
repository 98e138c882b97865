/** Approvers and pairing on the wire. */

import { Type } from "typebox";
import { Envelope, Metadata, Name, Nullable, Timestamp } from "./schema-pieces.ts";

const Fingerprint = Type.String({ pattern: "^[0-9a-f]{64}$" });
const SignerKeyId = Type.String({ pattern: "^[A-Za-z0-9_-]{43}$" });

export const BeginPairingRequest = Type.Object({
  workspace_name: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
});

export const PairingBegun = Type.Object({
  code: Type.String(),
  nonce: Type.String(),
  expires_at: Timestamp,
  gateway_url: Type.String(),
});

export const Pairing = Type.Object({
  nonce: Type.String(),
  state: Type.Enum(["initiated", "resolved", "completed", "revoked", "expired"]),
  expires_at: Timestamp,
  approver_id: Nullable(Type.String()),
  fingerprint: Nullable(Fingerprint),
});

/** An approval for those who verify it themselves. */
export const PermissionProof = Type.Object({
  permission_request_id: Type.String(),
  task_id: Type.String(),
  session_id: Type.String(),
  status: Type.Enum(["pending", "approved", "denied"]),
  /** The signed decisions and the keys; null where none were signed. */
  proof: Nullable(Type.Unknown()),
  /** What was signed, each as it was shown to the approver: its SHA-256 is in the decision. */
  artifacts: Type.Array(Type.Unknown()),
  reason: Nullable(Type.String()),
  used_at: Nullable(Timestamp),
  /** Whether the signatures count now: keys are revoked, and time passes. */
  is_valid: Type.Boolean(),
  problem: Nullable(Type.String()),
});

export const ConfirmPairingRequest = Type.Object({
  fingerprint: Fingerprint,
  label: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  /** The key of the same approver that this one takes the place of. */
  replaces: Type.Optional(SignerKeyId),
  overlap_ms: Type.Optional(Type.Integer({ minimum: 0 })),
});

export const Approver = Type.Object({
  signer_key_id: Type.String(),
  approver_id: Type.String(),
  state: Type.Enum(["pending", "active", "deprecated", "revoked"]),
  label: Nullable(Type.String()),
  alg: Type.String(),
  ed25519: Type.String(),
  x25519: Type.String(),
  fingerprint: Fingerprint,
  device_id: Type.String(),
  roles: Type.Array(Type.String()),
  created_at: Timestamp,
  not_before: Timestamp,
  deprecated_at: Nullable(Timestamp),
  accepted_until: Nullable(Timestamp),
  revoked_at: Nullable(Timestamp),
  /** Of a pending key: when it counts if nobody refuses it; null when only signatures let it in. */
  pending_until: Nullable(Timestamp),
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
  /** `modified` approves the call of a tool with `input` in place of what it was to be given. */
  decision: Type.Optional(Type.Enum(["approved", "denied", "modified"])),
  input: Type.Optional(Type.Unknown()),
  outcome: Type.Optional(Type.Enum(["approved", "approve", "selected", "denied", "deny", "rejected"])),
  answer: Type.Optional(Type.Unknown()),
  reviewer: Type.Optional(Nullable(Name)),
  reason: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
  note: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
  /** The `artifact_hash` of the request that is answered: the answer is to that, or refused. */
  artifact_hash: Type.Optional(Type.String({ minLength: 1, maxLength: 71 })),
  metadata: Type.Optional(Metadata),
});
