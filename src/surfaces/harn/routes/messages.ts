/** Messages: a session's transcript. */

import { getRecord } from "../../../kernel/core/read.ts";
import { appendMessage } from "../../../kernel/sessions/append-message.ts";
import { listMessages } from "../../../kernel/sessions/list-messages.ts";
import { presentPage } from "../lists.ts";
import { presentMessage } from "../present.ts";
import { messageInput } from "../read-input.ts";
import { route } from "../route.ts";
import { ListOf, PageQuery } from "../schemas.ts";
import { AppendMessageRequest, Message } from "../schemas-message.ts";

const tag = "Messages";

export const messageRoutes = [
  route({
    method: "GET",
    path: "/v1/sessions/{session_id}/messages",
    operationId: "listSessionMessages",
    scope: "messages:read",
    summary: "Read a session's transcript, oldest message first.",
    tag,
    query: PageQuery,
    response: ListOf(Message),
    async handle(call) {
      const request = { sessionId: call.param("session_id"), ...call.query };
      const page = await listMessages(call.kernel, call.caller, request);
      return presentPage(page, (message) => presentMessage(message, call));
    },
  }),
  route({
    method: "POST",
    path: "/v1/sessions/{session_id}/messages",
    operationId: "appendSessionMessage",
    scope: "messages:write",
    summary: "Append a message to a session.",
    tag,
    status: 201,
    body: AppendMessageRequest,
    response: Message,
    async handle(call) {
      const request = { sessionId: call.param("session_id"), message: messageInput(call.body.message) };
      return presentMessage(await call.dispatch(appendMessage, request), call);
    },
  }),
  route({
    method: "GET",
    path: "/v1/messages/{message_id}",
    operationId: "getMessage",
    scope: "messages:read",
    summary: "Read a message.",
    tag,
    response: Message,
    async handle(call) {
      return presentMessage(await getRecord(call, call.caller, "message", call.param("message_id")), call);
    },
  }),
];
