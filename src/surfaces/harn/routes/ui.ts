/** A session for `useChat` of the AI SDK: a message or an answer goes in, a UI message stream comes out. */

import { Type } from "typebox";
import { requireScope } from "../../../kernel/access/authorize.ts";
import { respondPermissionRequest } from "../../../kernel/approvals/respond-permission-request.ts";
import { readLog } from "../../../kernel/core/log-tail.ts";
import { getRecord } from "../../../kernel/core/read.ts";
import type { TaskRecord } from "../../../kernel/kinds/task.ts";
import { appendTaskMessage } from "../../../kernel/tasks/append-task-message.ts";
import { callAgent } from "../../../kernel/tasks/call-agent.ts";
import { isFinal } from "../../../kernel/tasks/lifecycle.ts";
import { listTasks } from "../../../kernel/tasks/read-tasks.ts";
import { submitTask } from "../../../kernel/tasks/submit-task.ts";
import type { Position } from "../../../store/port.ts";
import { traceIn } from "../../trace-headers.ts";
import { type Call, type Route, route } from "../route.ts";
import { uiMessages } from "../ui/history.ts";
import { type Approval, saidIn, UiChatRequest } from "../ui/read-chat.ts";
import { streamUi, type UiStreamOptions } from "../ui/stream.ts";

const tag = "AI SDK";

/** A chat has one task at a time; others of the session that are open are older. */
const recentTasks = 20;

export function uiRoutes(options: UiStreamOptions): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/sessions/{session_id}/ui",
      operationId: "listUiMessages",
      scope: "messages:read",
      isUnversioned: true,
      summary: "The last 500 messages of the transcript as messages of the AI SDK, to begin `useChat` with.",
      tag,
      response: Type.Object({ messages: Type.Array(Type.Unknown()) }),
      async handle(call) {
        const sessionId = call.param("session_id");
        const open = await openTask(call, sessionId);
        return { messages: await uiMessages(call, sessionId, open?.id ?? null) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/sessions/{session_id}/ui",
      operationId: "chatInSession",
      scope: "tasks:write",
      isUnversioned: true,
      summary:
        "Send the last message of a chat, or answers to its approvals, and follow what comes of it as a UI message stream of the AI SDK.",
      tag,
      body: UiChatRequest,
      produces: "text/event-stream",
      async handle(call) {
        requireScope(call.caller, "events:read");
        const said = saidIn(call.body);
        const sessionId = call.param("session_id");
        if (said.kind === "approvals") return await answerApprovals(call, sessionId, said, options);
        const open = await openTask(call, sessionId);
        const message = { role: "user" as const, parts: said.parts };
        if (open?.pending?.kind === "input") {
          await call.dispatch(appendTaskMessage, { taskId: open.id, kind: "input", message });
          const after = await lastAnswer(call, open);
          return await streamUi(call, { task: open, after, messageId: messageIdOf(open, after) }, options);
        }
        const trace = traceIn(call.request.headers);
        const { agent } = call.body;
        const task =
          agent === undefined
            ? await call.dispatch(submitTask, { sessionId, input: { message }, trace })
            : await call.dispatch(callAgent, { agent, sessionId, input: { message }, trace });
        return await streamUi(call, { task, after: 0, messageId: messageIdOf(task, 0) }, options);
      },
    }),
    route({
      method: "GET",
      path: "/v1/sessions/{session_id}/ui/{chat_id}/stream",
      operationId: "resumeChatInSession",
      scope: "events:read",
      isUnversioned: true,
      summary: "Follow what a chat's open task does, from its last answer; 204 when there is none.",
      tag,
      produces: "text/event-stream",
      async handle(call) {
        const task = await openTask(call, call.param("session_id"));
        if (task === null) return call.reply.code(204).send();
        const after = await lastAnswer(call, task);
        return await streamUi(call, { task, after, messageId: messageIdOf(task, after) }, options);
      },
    }),
  ];
}

/** The newest task of the session that has not ended and is nobody's child. */
async function openTask(call: Call<unknown, unknown>, sessionId: string): Promise<TaskRecord | null> {
  await getRecord(call, call.caller, "session", sessionId);
  requireScope(call.caller, "tasks:read");
  const { data } = await listTasks(call.kernel, call.caller, { sessionId, limit: recentTasks });
  return data.find(({ status, parent_task_id }) => !isFinal(status) && parent_task_id === null) ?? null;
}

/** What a task says after each answer is a message of its own. */
function messageIdOf({ id }: TaskRecord, after: Position): string {
  return after === 0 ? id : `${id}.${after}`;
}

async function lastAnswer(call: Call<unknown, unknown>, task: TaskRecord): Promise<Position> {
  let last = 0;
  for await (const events of readLog(call.store.of(call.caller.tenantId), { taskId: task.id, after: 0 }))
    last = events.findLast(({ event }) => event === "user.input_submitted")?.position ?? last;
  return last;
}

async function answerApprovals(
  call: Call<unknown, unknown>,
  sessionId: string,
  { messageId, approvals }: { messageId: string | undefined; approvals: readonly Approval[] },
  options: UiStreamOptions,
): Promise<unknown> {
  const task = await openTask(call, sessionId);
  // Answers of earlier turns come along with the message; only what is still open is answered.
  const open = approvals.find(({ requestId }) => requestId === task?.pending?.permission_request_id);
  if (task === null || open === undefined) return call.reply.code(204).send();
  const after = await call.store.head();
  await call.dispatch(respondPermissionRequest, open);
  return await streamUi(call, { task, after, messageId: messageId ?? messageIdOf(task, after) }, options);
}
