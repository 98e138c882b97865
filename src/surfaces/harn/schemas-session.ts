/** Sessions and branches on the wire, and what became of the older content of a session or a task. */

import { Type } from "typebox";
import { Envelope, Id, LongName, Metadata, Nullable, Timestamp } from "./schema-pieces.ts";
import { MessageInput } from "./schemas-message.ts";

export const Compaction = Type.Object({
  compacted_at: Timestamp,
  from_event_id: Type.String(),
  through_event_id: Type.String(),
  turn_count: Type.Integer(),
  message_count: Type.Integer(),
  event_count: Type.Integer(),
  artifact_count: Type.Integer(),
  artifact_ids: Type.Array(Type.String()),
  summary: Type.String(),
});
export const Erasure = Type.Object({
  requested_at: Timestamp,
  requested_by: Type.String(),
  reason: Type.Union([Type.String(), Type.Null()]),
  erased_at: Type.Union([Timestamp, Type.Null()]),
});
export const Trimmed = Type.Object({
  trimmed_at: Timestamp,
  through_event_id: Type.String(),
  event_count: Type.Integer(),
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
