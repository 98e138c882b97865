/** What a server says of itself. */

import { Type } from "typebox";
import { protocolVersion } from "./protocol.ts";
import { Envelope, JsonObject, Nullable } from "./schema-pieces.ts";
import { Skill } from "./schemas-knowledge.ts";

export const Health = Type.Object({
  ok: Type.Boolean(),
  status: Type.String(),
  reason: Type.Optional(
    Type.String({ description: "Why the server takes no new work, if its disk is the cause." }),
  ),
  version: Type.String(),
});
export const RuntimeVersion = Type.Object({
  object: Type.Literal("version"),
  version: Type.String(),
  protocol_version: Type.String(),
});
const Capability = Type.Object({ id: Type.String(), description: Type.String() });
export const CapabilitySummary = Type.Object({
  object: Type.Literal("capability_summary"),
  capabilities: Type.Array(Capability),
});
export const RuntimeMetadata = Type.Object({
  object: Type.Literal("runtime"),
  version: Type.String(),
  protocol_version: Type.String(),
  adapter: Type.String(),
  default_agent: Type.String({ description: "The agent that gets work which names none." }),
  retention_days: Nullable(
    Type.Number({
      description: "How long what ended stays in the log and can be replayed; null is for ever.",
    }),
  ),
  session_count: Type.Integer({ minimum: 0 }),
  task_count: Type.Integer({ minimum: 0 }),
  capabilities: Type.Array(Capability),
});
export const Discovery = Type.Object({
  object: Type.Literal("protocol_discovery"),
  protocol_family: Type.Literal("harn_agents_protocol"),
  current_version: Type.Literal(protocolVersion),
  supported_versions: Type.Array(Type.String()),
  capabilities: Type.Record(Type.String(), Type.Boolean()),
  protocols: Type.Array(Type.Object({ id: Type.String(), version: Type.String(), path: Type.String() })),
});
const Modes = Type.Array(Type.String());
const A2aInterface = { url: Type.String(), tenant: Type.Optional(Type.String()) };
/** What of an A2A card is always there; the card may have more. */
const A2aCard = Type.Object({
  name: Type.String(),
  description: Type.String(),
  version: Type.String(),
  protocolVersion: Type.Optional(Type.String()),
  url: Type.Optional(Type.String()),
  preferredTransport: Type.Optional(Type.String()),
  additionalInterfaces: Type.Optional(Type.Array(Type.Object({ ...A2aInterface, transport: Type.String() }))),
  supportedInterfaces: Type.Array(
    Type.Object({ ...A2aInterface, protocolBinding: Type.String(), protocolVersion: Type.String() }),
  ),
  provider: Type.Optional(Type.Object({ organization: Type.String(), url: Type.String() })),
  documentationUrl: Type.Optional(Type.String()),
  iconUrl: Type.Optional(Type.String()),
  capabilities: JsonObject,
  securitySchemes: JsonObject,
  securityRequirements: Type.Optional(Type.Array(JsonObject)),
  security: Type.Optional(Type.Array(JsonObject)),
  defaultInputModes: Modes,
  defaultOutputModes: Modes,
  skills: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      description: Type.String(),
      tags: Type.Array(Type.String()),
      examples: Type.Optional(Type.Array(Type.String())),
      inputModes: Type.Optional(Modes),
      outputModes: Type.Optional(Modes),
    }),
  ),
  signatures: Type.Optional(Type.Array(Type.Object({ protected: Type.String(), signature: Type.String() }))),
});
export const HarnAgentCard = Envelope("harn_agent_card", {
  name: Type.String(),
  description: Type.String(),
  protocol_version: Type.String(),
  public_url: Type.String(),
  provider: Nullable(Type.Object({ organization: Type.String(), url: Type.String() })),
  capabilities: Type.Array(Type.String()),
  receipt_policy: Type.String({ description: "Of personas that do not say." }),
  a2a_card: A2aCard,
  skills: Type.Array(Skill),
  harn_interfaces: Type.Array(Type.Object({ transport: Type.String(), url: Type.String() })),
  auth_schemes: Type.Array(Type.String()),
  signature: Type.Object({
    algorithm: Type.Literal("ed25519"),
    key_id: Type.String(),
    value: Type.String(),
  }),
});
