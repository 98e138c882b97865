/** Messages on the wire. */

import { type TProperties, Type } from "typebox";
import { Envelope, JsonObject, Metadata, Nullable, Visibility } from "./schema-pieces.ts";

const RoleSchema = Type.Enum(["user", "assistant", "system", "tool", "agent"]);
const PartOf = <P extends TProperties, T extends string>(type: T, properties: P) =>
  Type.Object({ type: Type.Literal(type), ...properties, visibility: Visibility });
export const Part = Type.Union([
  PartOf("text", { text: Type.String() }),
  PartOf("json", { value: Type.Unknown() }),
  PartOf("tool_call", { tool_call_id: Type.String(), name: Type.String(), input: JsonObject }),
  PartOf("tool_result", {
    tool_call_id: Type.String(),
    output: Type.Unknown(),
    status: Type.Enum(["ok", "error"]),
  }),
  PartOf("artifact_ref", { artifact_id: Type.String() }),
  PartOf("file_ref", { uri: Type.String(), mime_type: Type.String() }),
  PartOf("image_ref", { artifact_id: Type.String(), mime_type: Type.String() }),
]);
export const MessageInput = Type.Object({
  role: RoleSchema,
  parts: Type.Array(Part, { minItems: 1, maxItems: 1000 }),
  metadata: Type.Optional(Metadata),
});
/** What a caller who may not see a part gets in its place. */
const RedactedPart = Type.Object({
  redacted: Type.Literal(true),
  type: Type.String(),
  visibility: Visibility,
  sha256: Type.String(),
});
export const Message = Envelope("message", {
  workspace_id: Type.String(),
  session_id: Nullable(Type.String()),
  task_id: Nullable(Type.String()),
  role: RoleSchema,
  parts: Type.Array(Type.Union([Part, RedactedPart])),
});
export const AppendMessageRequest = Type.Object({ message: MessageInput });
