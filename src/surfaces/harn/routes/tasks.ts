/** Tasks: read, explain, cancel, and talk to them. */

import { getRecord } from "../../../kernel/core/read.ts";
import { appendTaskMessage } from "../../../kernel/tasks/append-task-message.ts";
import { cancelTask } from "../../../kernel/tasks/cancel-task.ts";
import { explainTask } from "../../../kernel/tasks/explain-task.ts";
import { listTasks, readTask } from "../../../kernel/tasks/read-tasks.ts";
import { signalTask } from "../../../kernel/tasks/signal-task.ts";
import { presentPage } from "../lists.ts";
import { presentMessage } from "../present.ts";
import { presentTask } from "../present-task.ts";
import { jsonValue, messageInput } from "../read-input.ts";
import { type Route, route } from "../route.ts";
import { ListOf, PageQuery, TaskListQuery } from "../schemas.ts";
import { Message } from "../schemas-message.ts";
import {
  AppendTaskMessageRequest,
  CancelTaskRequest,
  SignalTaskRequest,
  Task,
  TaskExplanation,
} from "../schemas-task.ts";
import { replayTaskRoute, retryTaskRoute, submitSessionTaskRoute, submitTaskRoute } from "./submissions.ts";

const tag = "Tasks";

const listTasksRoute = route({
  method: "GET",
  path: "/v1/tasks",
  operationId: "listTasks",
  scope: "tasks:read",
  summary:
    "List tasks, newest first. With `status`, `agent` or `since`, those whose status changed last come first.",
  tag,
  query: TaskListQuery,
  response: ListOf(Task),
  async handle(call) {
    const { workspace_id, session_id, status, agent, since, cursor, limit } = call.query;
    const request = { workspaceId: workspace_id, sessionId: session_id, cursor, limit };
    const page = await listTasks(call.kernel, call.caller, { ...request, status, agent, since });
    return presentPage(page, (task) => presentTask(task, call));
  },
});

const listSessionTasksRoute = route({
  method: "GET",
  path: "/v1/sessions/{session_id}/tasks",
  operationId: "listSessionTasks",
  scope: "tasks:read",
  summary: "List the tasks of a session, newest first.",
  tag,
  query: PageQuery,
  response: ListOf(Task),
  async handle(call) {
    const { id: sessionId } = await getRecord(call, call.caller, "session", call.param("session_id"));
    const page = await listTasks(call.kernel, call.caller, { sessionId, ...call.query });
    return presentPage(page, (task) => presentTask(task, call));
  },
});

const getTaskRoute = route({
  method: "GET",
  path: "/v1/tasks/{task_id}",
  operationId: "getTask",
  scope: "tasks:read",
  summary: "Read a task.",
  tag,
  response: Task,
  async handle(call) {
    return presentTask(await readTask(call.kernel, call.caller, call.param("task_id")), call);
  },
});

const explainTaskRoute = route({
  method: "GET",
  path: "/v1/tasks/{task_id}/why",
  operationId: "explainTask",
  scope: "tasks:read",
  summary: "Why a task waits, or ended, in one sentence, and what would help.",
  tag,
  response: TaskExplanation,
  async handle(call) {
    const explanation = await explainTask(call.kernel, call.caller, call.param("task_id"));
    return { object: "task_explanation", ...explanation };
  },
});

const cancelTaskRoute = route({
  method: "POST",
  path: "/v1/tasks/{task_id}/cancel",
  operationId: "cancelTask",
  scope: "tasks:write",
  summary: "Cancel a task, for good.",
  tag,
  body: CancelTaskRequest,
  bodyOptional: true,
  response: Task,
  async handle(call) {
    const task = await call.dispatch(cancelTask, {
      taskId: call.param("task_id"),
      reason: call.body.reason,
    });
    return presentTask(task, call);
  },
});

const signalTaskRoute = route({
  method: "POST",
  path: "/v1/tasks/{task_id}/signals",
  operationId: "signalTask",
  scope: "tasks:write",
  summary: "Send a signal to a task, for its code to wait for with `ctx.waitFor`.",
  tag,
  status: 202,
  body: SignalTaskRequest,
  response: Task,
  async handle(call) {
    const { name, payload } = call.body;
    const request = { taskId: call.param("task_id"), name, payload: jsonValue(payload) ?? null };
    return presentTask(await call.dispatch(signalTask, request), call);
  },
});

const appendTaskMessageRoute = route({
  method: "POST",
  path: "/v1/tasks/{task_id}/messages",
  operationId: "appendTaskMessage",
  scope: "messages:write",
  summary: "Answer, interrupt, or confirm a tool of a task.",
  tag: "Messages",
  status: 201,
  body: AppendTaskMessageRequest,
  response: Message,
  async handle(call) {
    const { kind, message } = call.body;
    const request = { taskId: call.param("task_id"), kind, message: messageInput(message) };
    return presentMessage(await call.dispatch(appendTaskMessage, request), call);
  },
});

/** `stopped` ends the waiting for tasks when the server stops. */
export function taskRoutes(stopped: AbortSignal): Route[] {
  return [
    listTasksRoute,
    submitTaskRoute(stopped),
    listSessionTasksRoute,
    submitSessionTaskRoute(stopped),
    getTaskRoute,
    explainTaskRoute,
    cancelTaskRoute,
    signalTaskRoute,
    retryTaskRoute(stopped),
    replayTaskRoute(stopped),
    appendTaskMessageRoute,
  ];
}
