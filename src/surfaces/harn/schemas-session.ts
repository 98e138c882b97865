/** What became of the older content of a session or a task, as they show it. */

import { Type } from "typebox";

const Timestamp = Type.String({ format: "date-time" });

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
