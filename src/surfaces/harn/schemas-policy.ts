/** Personas and quotas on the wire. */

import { type Static, Type } from "typebox";
import { autonomyTiers, risks } from "../../kernel/kinds/persona.ts";
import { limitNames, quotaScopes, resetWindows } from "../../kernel/kinds/quota.ts";
import { modelNamePattern } from "../validate.ts";
import { Envelope, JsonObject, Metadata, Nullable, Timestamp } from "./schema-pieces.ts";

/** More people than this never agree in time. */
const quorumMax = 20;

const Name = Type.String({ minLength: 1, maxLength: 200 });
const LongName = Type.String({ minLength: 1, maxLength: 2000 });
const Names = Type.Array(Name, { maxItems: 500 });

const Schedule = Type.Object({
  id: Type.Optional(Type.String()),
  cron: Type.String({ minLength: 1, maxLength: 200 }),
  time_zone: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  input: Type.Optional(JsonObject),
  workspace_id: Type.Optional(Type.String()),
  session_id: Type.Optional(Type.String()),
  paused: Type.Optional(Type.Boolean()),
});

const Trigger = Type.Object({
  connector_id: Type.String({ minLength: 1 }),
  event_kinds: Type.Optional(Names),
});

const ModelName = Type.String({ pattern: modelNamePattern, maxLength: 200 });

const ModelPolicy = Type.Object({
  model: Type.Optional(ModelName),
  alternatives: Type.Optional(Type.Array(ModelName, { maxItems: 5 })),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  instructions: Type.Optional(Type.String({ maxLength: 65_536 })),
  max_steps: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  allowed_models: Type.Optional(Names),
  max_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
});

const ApprovalPolicy = Type.Object({
  channel: Type.Optional(Type.Enum(["any", "harp"])),
  quorum: Type.Optional(Type.Integer({ minimum: 1, maximum: quorumMax })),
  approvers: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { minItems: 1, maxItems: 100 }),
  ),
  ask_from: Type.Optional(Type.Enum([...risks])),
  four_eyes: Type.Optional(Type.Boolean()),
});

const tier = Type.Enum([...autonomyTiers]);
const receiptPolicy = Type.Enum(["required", "optional", "disabled"]);

/** What a persona may say beside what it must. */
const policyFields = {
  tools: Type.Optional(Names),
  capabilities: Type.Optional(Names),
  handoffs: Type.Optional(Names),
  model_policy: Type.Optional(ModelPolicy),
  approval_policy: Type.Optional(ApprovalPolicy),
  schedules: Type.Optional(Type.Array(Schedule, { maxItems: 100 })),
  triggers: Type.Optional(Type.Array(Trigger, { maxItems: 100 })),
  context_packs: Type.Optional(Names),
  evals: Type.Optional(Names),
  owner: Type.Optional(Nullable(Type.String({ maxLength: 200 }))),
  rollout_policy: Type.Optional(JsonObject),
  quota_id: Type.Optional(Nullable(Type.String())),
  disabled: Type.Optional(Type.Boolean()),
  lists: Type.Optional(Type.Enum(["open", "strict"])),
};

export const Persona = Envelope("persona", {
  name: Type.String(),
  version: Type.String(),
  entry_workflow: Type.String(),
  description: Type.String(),
  autonomy_tier: tier,
  receipt_policy: receiptPolicy,
  module_ref: Type.Optional(Type.String()),
  /** The API key it was made with. */
  created_by_key_id: Type.Optional(Type.String()),
  ...policyFields,
  /** What is going to be changed once the approvers agree. */
  pending_change: Type.Optional(
    Type.Object({
      id: Type.String(),
      changes: JsonObject,
      requested_by: Type.String(),
      requested_at: Timestamp,
      effective_at: Nullable(Timestamp),
      expires_at: Timestamp,
    }),
  ),
});

export const CreatePersonaRequest = Type.Object({
  name: Name,
  version: Name,
  entry_workflow: LongName,
  description: Type.String({ maxLength: 10_000 }),
  autonomy_tier: tier,
  receipt_policy: receiptPolicy,
  module_ref: Type.Optional(LongName),
  ...policyFields,
  metadata: Type.Optional(Metadata),
});

export const UpdatePersonaRequest = Type.Object({
  name: Type.Optional(Name),
  version: Type.Optional(Name),
  entry_workflow: Type.Optional(LongName),
  description: Type.Optional(Type.String({ maxLength: 10_000 })),
  autonomy_tier: Type.Optional(tier),
  receipt_policy: Type.Optional(receiptPolicy),
  module_ref: Type.Optional(LongName),
  ...policyFields,
  metadata: Type.Optional(Metadata),
});

const Limit = Type.Optional(Type.Number({ minimum: 0 }));
const Limits = Type.Object(Object.fromEntries(limitNames.map((name) => [name, Limit])), {
  additionalProperties: false,
  minProperties: 1,
});

const quotaFields = {
  /** False for limits that are watched and never refuse. */
  hard_limit: Type.Optional(Type.Boolean()),
  soft_limit: Type.Optional(Type.Boolean()),
  on_exhaustion: Type.Optional(Type.Enum(["end", "ask"])),
  reset_window: Type.Optional(Nullable(Type.Enum([...resetWindows]))),
  reset_at: Type.Optional(Nullable(Timestamp)),
  metadata: Type.Optional(Metadata),
};

export const CreateQuotaRequest = Type.Object({
  scope: Type.Enum([...quotaScopes]),
  limits: Limits,
  ...quotaFields,
});
export const UpdateQuotaRequest = Type.Object({ limits: Type.Optional(Limits), ...quotaFields });
export type QuotaFields = Omit<Static<typeof UpdateQuotaRequest>, "limits">;

const Usage = Type.Record(Type.String(), Type.Number());
export const Quota = Envelope("quota", {
  scope: Type.Enum([...quotaScopes]),
  limits: Usage,
  usage: Usage,
  reset_at: Nullable(Timestamp),
  reset_window: Nullable(Type.Enum([...resetWindows])),
  hard_limit: Type.Boolean(),
  soft_limit: Type.Boolean(),
  on_exhaustion: Type.Enum(["end", "ask"]),
  exhaustion_reason: Nullable(Type.String()),
  last_receipt_id: Nullable(Type.String()),
});
