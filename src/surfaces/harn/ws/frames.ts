/** The frames of the WebSocket profile: what a client may send, and how it is read. */

import { type Static, type TSchema, Type } from "typebox";
import { HarnessError } from "../../../kernel/core/errors.ts";
import { capabilityPattern } from "../../../kernel/tasks/host-calls.ts";
import { parseJson } from "../../json-body.ts";
import { checker } from "../../validate.ts";
import { AppendMessageRequest, MessageInput } from "../schemas-message.ts";
import { TruncateSessionRequest } from "../schemas-session.ts";
import { CancelTaskRequest, SubmitTaskRequest } from "../schemas-task.ts";

const idCharsMax = 200;
const Id = Type.String({ minLength: 1, maxLength: idCharsMax });
/** A call id holds the name of a capability. */
const CallId = Type.String({ minLength: 1, maxLength: 2 * idCharsMax });
const capabilitiesMax = 100;

/** What every frame may carry. */
const Common = Type.Object({ idempotency_key: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })) });

export const Hello = Type.Object({
  cursor: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  capabilities: Type.Optional(Type.Unknown()),
  host_capabilities: Type.Optional(
    Type.Array(Type.String({ pattern: capabilityPattern }), { maxItems: capabilitiesMax }),
  ),
});

export const commandFrames = {
  "message.append": AppendMessageRequest,
  "task.submit": Type.Object({
    input: SubmitTaskRequest.properties.input,
    persona_id: SubmitTaskRequest.properties.persona_id,
    branch_id: SubmitTaskRequest.properties.branch_id,
    parent_task_id: SubmitTaskRequest.properties.parent_task_id,
    metadata: SubmitTaskRequest.properties.metadata,
    traceparent: Type.Optional(Type.String()),
    tracestate: Type.Optional(Type.String()),
  }),
  "task.cancel": Type.Object({ task_id: Id, ...CancelTaskRequest.properties }),
  "session.truncate": TruncateSessionRequest,
  "input.submit": Type.Object({ task_id: Id, message: MessageInput }),
  "approval.respond": Type.Object({
    request_id: Id,
    decision: Type.Enum(["approved", "denied"]),
    note: Type.Optional(Type.Union([Type.String({ maxLength: 2000 }), Type.Null()])),
  }),
  "host.result": Type.Object({
    call_id: CallId,
    output: Type.Optional(Type.Unknown()),
    error: Type.Optional(
      Type.Object({
        code: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
        message: Type.String({ minLength: 1, maxLength: 2000 }),
      }),
    ),
  }),
} as const satisfies Record<string, TSchema>;

export type CommandType = keyof typeof commandFrames;
export type CommandFrame<T extends CommandType> = Static<(typeof commandFrames)[T]>;

export function isCommand(type: string): type is CommandType {
  return Object.hasOwn(commandFrames, type);
}

/** The client's own name for a frame; it comes back on the answer. */
export type FrameId = string | number;

/** A frame whose envelope is right; what else is in it is checked by its type. */
export interface Frame {
  type: string;
  id: FrameId | undefined;
  idempotencyKey: string | undefined;
  body: Record<string, unknown>;
}

const checkCommon = checker(Common);

export function parseFrame(text: string): Record<string, unknown> {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new HarnessError("invalid_request", "A frame is a JSON object.");
  }
  return { ...value };
}

/** The id of a frame, which may be wrong in every other way. */
export function frameIdOf({ id }: Record<string, unknown>): FrameId | undefined {
  if (typeof id === "number") return id;
  return typeof id === "string" && id !== "" && id.length <= idCharsMax ? id : undefined;
}

export function readFrame(frame: Record<string, unknown>): Frame {
  const { type, id: given, idempotency_key: _, ...body } = frame;
  const id = frameIdOf(frame);
  if (typeof type !== "string") {
    throw new HarnessError("invalid_request", "A frame needs a type.", { param: "type" });
  }
  if (given !== undefined && id === undefined) {
    throw new HarnessError("invalid_request", `An id is a number or 1 to ${idCharsMax} characters.`, {
      param: "id",
    });
  }
  return { type, id, idempotencyKey: checkCommon(frame).idempotency_key, body };
}
