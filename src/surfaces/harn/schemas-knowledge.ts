/** The bodies of what agents know and can do: memories, skills, tools, connectors; and what becomes of branches. */

import { Type } from "typebox";
import { connectorOutputs, connectorProviders, connectorStatuses } from "../../kernel/kinds/connector.ts";
import { memoryScopes } from "../../kernel/kinds/memory.ts";
import { memoryKeyCharsMax } from "../../kernel/memory/memories.ts";
import {
  Envelope,
  Filter,
  Id,
  JsonObject,
  Limit,
  Metadata,
  Name,
  Nullable,
  Timestamp,
  Visibility,
} from "./schema-pieces.ts";

const Description = Type.String({ minLength: 1, maxLength: 2000 });

const MemoryScope = Type.Enum([...memoryScopes]);
const MemoryKey = Type.String({ minLength: 1, maxLength: memoryKeyCharsMax });
const Confidence = Type.Number({ minimum: 0, maximum: 1 });
/** What a caller who may not see it gets in its place is an object too. */
export const Memory = Envelope("memory", {
  scope: MemoryScope,
  owner_id: Type.String(),
  workspace_id: Nullable(Type.String()),
  key: Nullable(Type.String()),
  content: Type.Unknown(),
  provenance: JsonObject,
  expires_at: Nullable(Timestamp),
  embedding_ref: Nullable(Type.String()),
  visibility: Visibility,
  redaction_policy: JsonObject,
  confidence: Nullable(Type.Number()),
});
export const CreateMemoryRequest = Type.Object({
  scope: MemoryScope,
  owner_id: Id,
  content: Type.Unknown(),
  provenance: JsonObject,
  workspace_id: Type.Optional(Nullable(Id)),
  key: Type.Optional(Nullable(MemoryKey)),
  expires_at: Type.Optional(Nullable(Timestamp)),
  embedding_ref: Type.Optional(Nullable(Name)),
  visibility: Type.Optional(Visibility),
  redaction_policy: Type.Optional(JsonObject),
  confidence: Type.Optional(Nullable(Confidence)),
  metadata: Type.Optional(Metadata),
});
export const MemoryQuery = Type.Object({
  limit: Limit,
  cursor: Type.Optional(Type.String()),
  workspace_id: Filter,
  session_id: Filter,
  scope: Type.Optional(MemoryScope),
  owner_id: Filter,
  q: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })),
});

export const UpdateBranchRequest = Type.Object({
  worktree_uri: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
  metadata: Type.Optional(Metadata),
});
export const MergeBranchRequest = Type.Object({ into_branch_id: Id });
export const AbandonBranchRequest = Type.Object({
  reason: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
});

const Capabilities = Type.Array(Name, { maxItems: 200 });
export const Skill = Envelope("skill", {
  name: Type.String(),
  description: Type.String(),
  input_schema: Nullable(JsonObject),
  output_schema: Nullable(JsonObject),
  source: Nullable(Type.String()),
  version: Nullable(Type.String()),
  capabilities: Type.Array(Type.String()),
  requires_approval: Type.Boolean(),
  deprecated: Type.Boolean(),
  /** Of skills of agents: what their cards say. */
  tags: Type.Optional(Type.Array(Type.String())),
  examples: Type.Optional(Type.Array(Type.String())),
  input_modes: Type.Optional(Type.Array(Type.String())),
  output_modes: Type.Optional(Type.Array(Type.String())),
});
export const CreateSkillRequest = Type.Object({
  name: Name,
  description: Description,
  input_schema: Type.Optional(Nullable(JsonObject)),
  output_schema: Type.Optional(Nullable(JsonObject)),
  source: Type.Optional(Nullable(Name)),
  version: Type.Optional(Nullable(Name)),
  capabilities: Type.Optional(Capabilities),
  requires_approval: Type.Optional(Type.Boolean()),
  deprecated: Type.Optional(Type.Boolean()),
  metadata: Type.Optional(Metadata),
});
export const UpdateSkillRequest = Type.Partial(CreateSkillRequest);

export const Tool = Envelope("tool", {
  name: Type.String(),
  description: Type.String(),
  input_schema: JsonObject,
  output_schema: JsonObject,
});

/** Its times are those of the start of the server, as those of all that comes with it. */
export const Agent = Envelope("agent", {
  name: Type.String(),
  /** The one that new tasks get. */
  version: Type.String(),
  versions: Type.Array(Type.String()),
  persona_id: Nullable(Type.String()),
  description: Type.String(),
  input_schema: Nullable(JsonObject),
  /** Whether only signatures of paired approvers count in the persona that it has from the start. */
  signed_approvals: Type.Boolean(),
  skills: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      description: Type.String(),
      input_schema: Nullable(JsonObject),
      output_schema: Nullable(JsonObject),
    }),
  ),
  tools: Type.Array(Type.String()),
});

const ConnectorStatus = Type.Enum([...connectorStatuses]);
const hour = 60 * 60;
export const dedupeWindowDefault = { window_seconds: 7 * 24 * hour };
const DedupePolicy = Type.Object({
  /** From an hour to ninety days. */
  window_seconds: Type.Integer({ minimum: hour, maximum: 90 * 24 * hour }),
});
const Path = Type.String({ maxLength: 200, pattern: "^([\\w-]+(\\.[\\w-]+)*)?$" });
const Polling = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 2000 }),
    interval_seconds: Type.Integer({ minimum: 1, maximum: 24 * hour }),
    items_path: Type.Optional(Path),
    id_path: Type.Optional(Path),
    cursor_param: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  },
  { additionalProperties: false },
);
const ConnectorProviderSchema = Type.Enum([...connectorProviders]);
export const Connector = Envelope("connector", {
  provider: ConnectorProviderSchema,
  workspace_id: Type.String(),
  status: ConnectorStatus,
  event_kinds: Type.Array(Type.String()),
  dedupe_policy: DedupePolicy,
  auth: JsonObject,
  webhook: JsonObject,
  emits: Type.Enum([...connectorOutputs]),
  polling: Nullable(Polling),
  polled: Nullable(Type.Object({ cursor: Nullable(Type.String()) })),
  failure: Nullable(
    Type.Object(
      { count: Type.Integer(), code: Type.String(), reason: Type.String(), at: Timestamp },
      {
        description: "Failures since the last success; with five the connector is FAILED until one succeeds.",
      },
    ),
  ),
  target_persona_id: Nullable(Type.String()),
  target_session_id: Nullable(Type.String()),
  /** The API key it was made with. */
  created_by_key_id: Type.Optional(Type.String()),
  secret: Type.Optional(Nullable(Type.String())),
});
export const UpdateConnectorRequest = Type.Object({
  status: Type.Optional(ConnectorStatus),
  event_kinds: Type.Optional(Type.Array(Name, { maxItems: 200 })),
  dedupe_policy: Type.Optional(DedupePolicy),
  target_persona_id: Type.Optional(Nullable(Id)),
  target_session_id: Type.Optional(Nullable(Id)),
  emits: Type.Optional(Type.Enum([...connectorOutputs])),
  polling: Type.Optional(Polling),
  metadata: Type.Optional(Metadata),
});
export const CreateConnectorRequest = Type.Object({
  provider: ConnectorProviderSchema,
  workspace_id: Id,
  secret: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1000,
      description:
        "slack: the signing secret of the app (required). github: made by the server without it. polling: sent as a bearer token.",
    }),
  ),
  ...UpdateConnectorRequest.properties,
});
export const DeliveryAnswer = Type.Object({
  object: Type.Literal("connector_delivery"),
  delivery_id: Type.String(),
  task_id: Nullable(Type.String()),
  task_ids: Type.Array(Type.String()),
  message_id: Nullable(Type.String()),
  deduped: Type.Boolean(),
});
