/** The schema of a webhook of a task. */

import { Type } from "typebox";
import { Envelope, Nullable } from "./schema-pieces.ts";

const Count = Type.Integer({ minimum: 0 });

export const PushConfig = Envelope("push_config", {
  workspace_id: Type.String(),
  session_id: Type.String(),
  task_id: Type.String(),
  config_id: Type.String(),
  url: Type.String(),
  auth_scheme: Nullable(Type.String()),
  protocol_version: Type.String(),
  state: Type.Enum(["active", "ended", "failed"]),
  delivered_through_event_id: Type.String(),
  delivered_count: Count,
  attempts: Count,
  next_attempt_at: Nullable(Type.String({ format: "date-time" })),
  last_error: Nullable(Type.String()),
  /** The API key it was made with. */
  created_by_key_id: Type.Optional(Type.String()),
});
