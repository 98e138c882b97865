/**
 * What the events that clients show say, by kind. Every other kind has a payload too, which is not described: a client passes over it.
 * Content that a key may not read is a `Redacted` in its place.
 */

import { Type } from "typebox";
import { JsonObject, Nullable, Timestamp, Visibility } from "./schema-pieces.ts";
import { PermissionRequest } from "./schemas-approvals.ts";
import { AuditRecord } from "./schemas-audit.ts";
import { Message } from "./schemas-message.ts";
import { Failure, Task, TaskStatus } from "./schemas-task.ts";
import { Artifact } from "./schemas-workspace.ts";

const Redacted = Type.Object({
  redacted: Type.Literal(true),
  type: Type.String(),
  visibility: Type.Optional(Visibility),
  sha256: Type.String(),
});
/** Any JSON, or a `Redacted`. */
const Content = Type.Unknown();
const Step = { step: Type.String(), kind: Type.String(), name: Type.String() };
const StepError = Type.Object({ code: Type.String(), message: Type.String() });
const ToolCall = Type.Object({ effect: Type.String(), input: Content });

const Appended = Type.Object({ message: Message, step: Type.Optional(Type.String()) });

const Question = Type.Object({
  request: Type.Object({
    kind: Type.Enum(["input", "approval"]),
    step: Type.String(),
    prompt: Type.String(),
    schema: Nullable(JsonObject),
    permission_request_id: Nullable(Type.String()),
    expires_at: Timestamp,
  }),
});

const Decided = Type.Object({
  response: Type.Object({
    approved: Type.Boolean(),
    decision: Type.Enum(["approved", "denied", "timeout", "canceled"]),
    reason: Nullable(Type.String()),
    reviewer: Nullable(Type.String()),
    decided_by: Type.String(),
    decided_at: Timestamp,
  }),
  receipt_id: Nullable(Type.String()),
});

const StepStarted = Type.Object({
  ...Step,
  until: Type.Optional(Timestamp),
  child_task_id: Type.Optional(Type.String()),
  host_call: Type.Optional(Type.Object({ call_id: Type.String(), input: Content, expires_at: Timestamp })),
  handoff: Type.Optional(Type.Object({ handoff_id: Type.String(), expires_at: Timestamp })),
  tool_call: Type.Optional(ToolCall),
  model_call: Type.Optional(
    Type.Object({
      /** Messages of its own, and ranges of those that an earlier step had. */
      input: Type.Array(
        Type.Union([
          Type.Object({ content: Content }),
          Type.Object({ of_step: Type.String(), first: Type.Integer(), count: Type.Integer() }),
        ]),
      ),
      candidates: Type.Array(Type.String()),
      tools: Type.Array(Type.String()),
      settings: JsonObject,
    }),
  ),
});

const StepUpdated = Type.Object({
  step: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
  percent: Type.Optional(Type.Number()),
  delta: Type.Optional(
    Type.Object({
      step: Type.String(),
      attempt: Type.Integer(),
      index: Type.Integer(),
      type: Type.Enum(["text", "reasoning"]),
      text: Type.Union([Type.String(), Redacted]),
      visibility: Type.Enum(["public", "internal"]),
    }),
  ),
  parked: Type.Optional(Type.Object({ reason: Type.String(), until: Nullable(Timestamp) })),
});

const StepEnded = Type.Object({
  ...Step,
  result: Type.Union([Type.Object({ output: Content }), Type.Object({ error: StepError })]),
  started_at: Type.Optional(Timestamp),
  simulated: Type.Optional(JsonObject),
  stack: Type.Optional(Type.Union([Type.String(), Redacted])),
  tool_call: Type.Optional(ToolCall),
  model_call: Type.Optional(
    Type.Object({
      chosen: Nullable(Type.Object({ provider: Type.String(), model: Type.String() })),
      attempts: Type.Integer(),
      usage: Type.Object({ input_tokens: Type.Number(), output_tokens: Type.Number() }),
      usd: Nullable(Type.Number()),
    }),
  ),
});

const outcome = Type.Object({
  id: Type.String(),
  status: Type.Enum(["SUCCEEDED", "FAILED", "CANCELED"]),
  summary: Type.String(),
  message_ids: Type.Array(Type.String()),
  receipt_id: Nullable(Type.String()),
});

export const eventPayloads = {
  "user.message": Appended,
  "agent.message": Appended,
  "vendor.bridle.message": Appended,

  "task.submitted": Type.Object({ task: Task }),
  "task.started": Type.Object({ agent: Type.Object({ name: Type.String(), version: Type.String() }) }),
  "task.status_changed": Type.Object({ from: TaskStatus, to: TaskStatus, reason: Nullable(Type.String()) }),
  "task.input_required": Question,
  "task.auth_required": Question,
  "task.completed": Type.Object({ outcome }),
  "task.failed": Type.Object({ outcome, failure: Failure }),
  "task.canceled": Type.Object({ outcome, reason: Nullable(Type.String()) }),

  "user.input_submitted": Type.Object({
    step: Type.String(),
    message_id: Type.String(),
    /** Of a replay with another answer. */
    answer: Type.Optional(Content),
  }),
  "user.cancel_requested": Type.Object({ reason: Nullable(Type.String()) }),
  "user.tool_confirmation": Type.Object({
    step: Type.String(),
    request_id: Type.String(),
    approved: Type.Boolean(),
    reason: Nullable(Type.String()),
    modified_input: Type.Optional(Content),
  }),
  "tool.approval_required": Type.Object({ permission_request: PermissionRequest }),
  "tool.approved": Decided,
  "tool.denied": Decided,

  "span.started": StepStarted,
  "span.updated": StepUpdated,
  "span.completed": StepEnded,
  "span.failed": StepEnded,
  "vendor.bridle.step.attempt_failed": Type.Object({
    ...Step,
    attempt: Type.Integer(),
    error: StepError,
    retry_at: Timestamp,
    stack: Type.Optional(Type.Union([Type.String(), Redacted])),
  }),

  "artifact.created": Type.Object({ artifact: Artifact, step: Type.Optional(Type.String()) }),
  "artifact.updated": Type.Object({
    artifact_id: Type.String(),
    index: Type.Integer(),
    completed: Nullable(Type.Object({ sha256: Type.String(), bytes: Type.Integer() })),
  }),
  "agent.handoff": Type.Object({
    step: Type.String(),
    task_id: Type.String(),
    persona_id: Type.Optional(Type.String()),
    url: Type.Optional(Type.String()),
  }),
  "vendor.bridle.quota.exhausted": Type.Object({ quota_id: Type.String(), reason: Type.String() }),
  "receipt.issued": Type.Object({
    receipt_id: Type.String(),
    subject: Type.Object({ object: Type.String(), id: Type.String() }),
    receipt_hash: Type.String(),
  }),
  "vendor.bridle.audit.recorded": AuditRecord,
};
