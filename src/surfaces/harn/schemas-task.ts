/** Tasks, their replays and outcomes on the wire. */

import { Type } from "typebox";
import { replayModes } from "../../kernel/kinds/replay.ts";
import { overrideKinds } from "../../kernel/replay/plan.ts";
import { waitKinds } from "../../kernel/tasks/explain/cause.ts";
import { taskStatuses } from "../../kernel/tasks/lifecycle.ts";
import {
  Envelope,
  Id,
  JsonObject,
  Metadata,
  Nullable,
  Timestamp,
  textMax,
  Visibility,
} from "./schema-pieces.ts";
import { Message, MessageInput } from "./schemas-message.ts";
import { Trimmed } from "./schemas-session.ts";
import { Artifact } from "./schemas-workspace.ts";

export const Failure = Type.Object({
  code: Type.String(),
  message: Type.String(),
  details: Type.Optional(JsonObject),
});
export const TaskStatus = Type.Enum(taskStatuses);
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
export const AppendTaskMessageRequest = Type.Object({
  kind: Type.Enum(["input", "interrupt", "tool_confirmation"]),
  message: MessageInput,
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
  handoffs: Nullable(
    Type.Array(JsonObject, { description: "As the receipt of the task says them; null without a receipt." }),
  ),
  cost: Nullable(
    Type.Object(
      { currency: Type.String(), total: Type.Number(), provider_breakdown: Type.Array(JsonObject) },
      { description: "As the receipt of the task says it; null without a receipt." },
    ),
  ),
  metrics: Type.Record(Type.String(), Type.Number(), {
    description:
      "queued_ms and duration_ms; with a receipt also what was used, as tool_calls and input_tokens.",
  }),
});
