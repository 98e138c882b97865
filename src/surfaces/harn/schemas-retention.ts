/** What becomes of old content on the wire: compaction, erasure, retention. */

import { Type } from "typebox";
import { Erasure, Session } from "./schemas-session.ts";

const Count = Type.Integer({ minimum: 0 });

export const CompactSessionRequest = Type.Object({
  keep_last: Count,
  summary: Type.Optional(Type.String({ minLength: 1, maxLength: 20_000 })),
});
export const CompactSessionResponse = Type.Object({
  object: Type.Literal("session.compact_result"),
  session_id: Type.String(),
  compacted_turn_count: Count,
  kept_turn_count: Count,
  session: Session,
});

export const EraseRequest = Type.Object({
  reason: Type.Optional(Type.String({ maxLength: 2000 })),
});
export const TenantErasure = Type.Object({
  object: Type.Literal("tenant.erasure"),
  tenant_id: Type.String(),
  erasure: Type.Union([Erasure, Type.Null()]),
});

export const SweepRequest = Type.Object({ dry_run: Type.Optional(Type.Boolean()) });
export const SweepReport = Type.Object({
  object: Type.Literal("retention.sweep_report"),
  dry_run: Type.Boolean(),
  cutoff: Type.String({ format: "date-time" }),
  tasks: Count,
  messages: Count,
  events: Count,
  blobs: Count,
  bytes: Count,
});
