/** The audit log on the wire. */

import { Type } from "typebox";
import { Filter, Nullable, Timestamp } from "./schema-pieces.ts";
import { PageQuery } from "./schemas.ts";

const Count = Type.Integer({ minimum: 0 });

export const AuditRecord = Type.Object({
  object: Type.Literal("audit_record"),
  index: Type.Integer({ minimum: 1 }),
  tenant_id: Type.String(),
  created_at: Timestamp,
  action: Type.String(),
  outcome: Type.Enum(["success", "failure"]),
  actor: Nullable(Type.String()),
  key_id: Nullable(Type.String()),
  address: Nullable(Type.String()),
  resource: Nullable(Type.Object({ object: Type.String(), id: Type.String() })),
  details: Type.Record(Type.String(), Type.Unknown()),
  previous_hash: Nullable(Type.String()),
  hash: Type.String(),
});

export const AuditVerification = Type.Object({
  object: Type.Literal("audit_verification"),
  valid: Type.Boolean(),
  /** Of a log that is valid. */
  size: Nullable(Count),
  head_hash: Nullable(Type.String()),
  /** The first record that is wrong, and why. */
  index: Nullable(Count),
  reason: Nullable(Type.String()),
});

export const AuditQuery = Type.Object({
  ...PageQuery.properties,
  action: Filter,
  actor: Filter,
  from: Type.Optional(Timestamp),
  until: Type.Optional(Timestamp),
});
