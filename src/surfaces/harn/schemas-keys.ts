/** API keys and tickets on the wire. */

import { Type } from "typebox";
import { overlapSecondsDefault, overlapSecondsMax } from "../../policy/api-key.ts";
import { Envelope, Id, Name, Nullable, Timestamp } from "./schema-pieces.ts";

export const ApiKey = Envelope("api_key", {
  name: Type.String(),
  actor: Type.String(),
  scopes: Type.Array(Type.String()),
  workspace_ids: Nullable(Type.Array(Type.String())),
  agent_names: Type.Optional(Nullable(Type.Array(Type.String()))),
  persona_ids: Type.Optional(Nullable(Type.Array(Type.String()))),
  allowed_cidrs: Type.Optional(Nullable(Type.Array(Type.String()))),
  tenant_id: Type.String(),
  expires_at: Nullable(Timestamp),
  revoked_at: Nullable(Timestamp),
  last_used_at: Type.Optional(Timestamp),
  previous_key_expires_at: Type.Optional(
    Type.String({
      format: "date-time",
      description: "Until then the secret before the last rotation works.",
    }),
  ),
  created_by_key_id: Type.Optional(Type.String()),
  key: Type.Optional(Nullable(Type.String())),
});
const Ids = Type.Array(Type.String());
/** With what it made, and what the keys that it made made. A revocation ends those keys; a rotation ends nothing. */
export const ApiKeyWithMade = Type.Object({
  ...ApiKey.properties,
  made: Type.Object({ api_key_ids: Ids, persona_ids: Ids, schedule_ids: Ids, connector_ids: Ids }),
});
export const CreateApiKeyRequest = Type.Object({
  name: Name,
  actor: Name,
  scopes: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }),
  workspace_ids: Type.Optional(Nullable(Type.Array(Id, { minItems: 1, maxItems: 1000 }))),
  agent_names: Type.Optional(Nullable(Type.Array(Id, { minItems: 1, maxItems: 1000 }))),
  persona_ids: Type.Optional(Nullable(Type.Array(Id, { minItems: 1, maxItems: 1000 }))),
  allowed_cidrs: Type.Optional(Nullable(Type.Array(Id, { minItems: 1, maxItems: 100 }))),
  tenant_id: Type.Optional(Type.String({ pattern: "^tenant_[a-z0-9][a-z0-9-]{0,62}$" })),
  expires_at: Type.Optional(Nullable(Timestamp)),
});
export const AdminKey = Type.Object({
  object: Type.Literal("admin_key"),
  disabled_at: Nullable(Timestamp),
  key: Type.Optional(Nullable(Type.String())),
});
export const RotateApiKeyRequest = Type.Object({
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: overlapSecondsMax,
      default: overlapSecondsDefault,
      description: "How long the old secret still works; 0 ends it at once.",
    }),
  ),
});
export const WsTicket = Type.Object({
  object: Type.Literal("ws_ticket"),
  ticket: Type.String(),
  expires_at: Timestamp,
});
