/** Receipts, their proofs and the keys that sign them, on the wire. */

import { Type } from "typebox";
import { JwksSchema } from "../../receipts/keys.ts";
import { Envelope, Id, JsonObject, Nullable, Timestamp } from "./schema-pieces.ts";

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
const sizeMax = 2 ** 40;
export const CheckpointQuery = Type.Object({
  size: Type.Optional(Type.Integer({ minimum: 0, maximum: sizeMax })),
});
export const ConsistencyQuery = Type.Object({
  from: Type.Optional(Type.Integer({ minimum: 0, maximum: sizeMax })),
  to: Type.Optional(Type.Integer({ minimum: 0, maximum: sizeMax })),
});
export const ConsistencyProof = Type.Object({
  object: Type.Literal("consistency_proof"),
  workspace_id: Type.String(),
  from: Type.Integer(),
  to: Type.Integer(),
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
export const SigningKey = Envelope("signing_key", {
  jwk: JsonObject,
  issuer_id: Type.String(),
  retired_at: Nullable(Timestamp),
});
