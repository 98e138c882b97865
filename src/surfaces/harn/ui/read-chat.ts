/** What `useChat` sends: the whole conversation, of which the last message is new. The rest the server has already. */

import { type Static, Type } from "typebox";
import { HarnessError } from "../../../kernel/core/errors.ts";
import type { Part } from "../../../kernel/kinds/message.ts";
import type { JsonValue } from "../../../store/port.ts";

const UiMessage = Type.Object({
  id: Type.Optional(Type.String({ maxLength: 200 })),
  role: Type.Enum(["user", "assistant", "system"]),
  parts: Type.Array(Type.Object({ type: Type.String() }), { maxItems: 1000 }),
  metadata: Type.Optional(Type.Unknown()),
});

export const UiChatRequest = Type.Object({
  id: Type.Optional(
    Type.String({
      description: "The id that the client gives the chat. The session in the path is what counts.",
    }),
  ),
  messages: Type.Array(UiMessage, {
    minItems: 1,
    description: "Messages of the AI SDK. The last one is new; the server keeps the others itself.",
  }),
  trigger: Type.Optional(Type.Enum(["submit-message", "regenerate-message"])),
  messageId: Type.Optional(Type.String()),
  agent: Type.Optional(
    Type.String({ description: "Who is given the message; the session's agent by default." }),
  ),
});

export interface Approval {
  requestId: string;
  approved: boolean;
  reason: string | null;
}

export type Said =
  | { kind: "message"; parts: Part[] }
  | { kind: "approvals"; messageId: string | undefined; approvals: Approval[] };

/** The last message: something new of the person, or the assistant's with answers to its requests for approval. */
export function saidIn({ messages, trigger }: Static<typeof UiChatRequest>): Said {
  if (trigger === "regenerate-message")
    throw new HarnessError(
      "invalid_request",
      "A message cannot be made again: what happened stays in the log. Send a new message, or replay the task.",
      { param: "trigger" },
    );
  const last = messages.at(-1);
  if (last?.role === "user") return { kind: "message", parts: last.parts.map(partOf) };
  const approvals = last?.role === "assistant" ? last.parts.flatMap(approvalIn) : [];
  if (approvals.length > 0) return { kind: "approvals", messageId: last?.id, approvals };
  throw new HarnessError(
    "invalid_request",
    "The last message must be the user's, or the assistant's with an answer to a request for approval.",
    { param: "messages" },
  );
}

function partOf(part: object): Part {
  const { type, text, data } = Object(part);
  if (type === "text" && typeof text === "string") return { type: "text", text, visibility: "public" };
  // JSON of a body, so any part of it is JSON.
  if (type === "data-answer") return { type: "json", value: data as JsonValue, visibility: "public" };
  throw new HarnessError(
    "invalid_request",
    `A part of the type ${JSON.stringify(type)} is not supported here: send text, data-answer, or upload files as artifacts first.`,
    { param: "messages" },
  );
}

function approvalIn(part: object): Approval[] {
  const { state, approval } = Object(part);
  const { id, approved, reason } = Object(approval);
  if (state !== "approval-responded" || typeof id !== "string" || typeof approved !== "boolean") return [];
  return [{ requestId: id, approved, reason: typeof reason === "string" ? reason : null }];
}
