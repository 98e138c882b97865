/** Tasks: submit, read, cancel, talk to; permission requests and outcomes. */

import type { Static } from "typebox";
import { listPermissionRequests } from "../../../kernel/approvals/permission-requests.ts";
import { readProof } from "../../../kernel/approvals/read-proof.ts";
import { respondPermissionRequest } from "../../../kernel/approvals/respond-permission-request.ts";
import { HarnessError } from "../../../kernel/core/errors.ts";
import { getRecord, listRecords } from "../../../kernel/core/read.ts";
import type { TaskRecord } from "../../../kernel/kinds/task.ts";
import { type ReplayTask, replayTask } from "../../../kernel/replay/replay-task.ts";
import { retryTask } from "../../../kernel/replay/retry-task.ts";
import { appendTaskMessage } from "../../../kernel/tasks/append-task-message.ts";
import { awaitTask } from "../../../kernel/tasks/await-task.ts";
import { cancelTask } from "../../../kernel/tasks/cancel-task.ts";
import { explainTask } from "../../../kernel/tasks/explain-task.ts";
import { getOutcome, listOutcomes } from "../../../kernel/tasks/outcomes.ts";
import { listTasks, readTask } from "../../../kernel/tasks/read-tasks.ts";
import { signalTask } from "../../../kernel/tasks/signal-task.ts";
import { submitTask } from "../../../kernel/tasks/submit-task.ts";
import { traceIn } from "../../trace-headers.ts";
import { presentPage } from "../lists.ts";
import {
  presentMessage,
  presentOutcome,
  presentPermissionRequest,
  presentProof,
  presentTask,
} from "../present.ts";
import { jsonObject, jsonValue, messageInput, taskInput } from "../read-input.ts";
import { type Call, type Route, route } from "../route.ts";
import { ListOf, PageQuery, pageQuery, TaskListQuery } from "../schemas.ts";
import { PermissionProof, PermissionRequest, PermissionResponseRequest } from "../schemas-approvals.ts";
import { Message } from "../schemas-message.ts";
import {
  AppendTaskMessageRequest,
  CancelTaskRequest,
  Outcome,
  ReplayTaskRequest,
  RetryTaskRequest,
  SignalTaskRequest,
  SubmitTaskRequest,
  Task,
  TaskExplanation,
} from "../schemas-task.ts";

const tag = "Tasks";
/** Longest a submit may wait for its task, whatever the client prefers. */
const waitSecondsMax = 60;

type SubmitBody = Static<typeof SubmitTaskRequest>;

async function submit(
  call: Call<unknown, SubmitBody>,
  sessionId: string,
  stopped: AbortSignal,
): Promise<unknown> {
  const { workspace_id, persona_id, branch_id, parent_task_id, input, metadata } = call.body;
  const task = await call.dispatch(submitTask, {
    sessionId,
    workspaceId: workspace_id,
    personaId: persona_id,
    branchId: branch_id,
    parentTaskId: parent_task_id,
    input: taskInput(input),
    metadata: jsonObject(metadata),
    trace: traceIn(call.request.headers),
  });
  return await afterWaiting(call, task, stopped);
}

/** The task as it is now or, if the client prefers to wait, as it is then. */
async function afterWaiting(
  call: Call<unknown, unknown>,
  task: TaskRecord,
  stopped: AbortSignal,
): Promise<unknown> {
  const seconds = preferredWait(call.request.headers.prefer);
  if (seconds === null) return await presentTask(task, call);
  call.reply.header("Preference-Applied", `wait=${seconds}`);
  return await presentTask(await awaitTask(call.kernel, call.caller, task.id, seconds * 1000, stopped), call);
}

function replayRequest(taskId: string, body: Static<typeof ReplayTaskRequest>): ReplayTask {
  const { mode = "exact", override = {}, checkpoint_id, checkpoint_event_id, reason, metadata } = body;
  return {
    taskId,
    mode,
    override: Object.fromEntries(
      Object.entries(override).map(([key, { event_id, artifact_id, value, ...rest }]) => [
        key,
        { ...rest, eventId: event_id, artifactId: artifact_id, value: jsonValue(value) },
      ]),
    ),
    checkpointId: checkpoint_id,
    checkpointEventId: checkpoint_event_id,
    reason,
    allowLive: metadata?.allow_live ?? [],
    agentVersion: metadata?.agent_version,
    metadata: jsonObject(metadata),
  };
}

/** `Prefer: wait=N` (RFC 7240): answer when the task has ended or needs somebody, at most N seconds later. */
function preferredWait(header: string | string[] | undefined): number | null {
  const wait = /(?:^|[,;\s])wait=(\d{1,6})\b/i.exec([header ?? ""].flat().join(","))?.[1];
  return wait === undefined ? null : Math.min(Number(wait), waitSecondsMax);
}

/** The decision, in whichever of the accepted spellings; several must agree. */
function approvedOf({ approved, decision, outcome }: Static<typeof PermissionResponseRequest>): boolean {
  const said = new Set<boolean>();
  if (approved !== undefined) said.add(approved);
  if (decision !== undefined) said.add(decision === "approved");
  if (outcome !== undefined) said.add(["approved", "approve", "selected"].includes(outcome));
  const [only] = said;
  if (only !== undefined && said.size === 1) return only;
  const problem = said.size === 0 ? "Say" : "The fields contradict each other: say";
  throw new HarnessError("invalid_request", `${problem} "approved": true or "approved": false.`, {
    param: "approved",
  });
}

/** `stopped` ends the waiting for tasks when the server stops. */
export function taskRoutes(stopped: AbortSignal): Route[] {
  return [
    route({
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
    }),
    route({
      method: "POST",
      path: "/v1/tasks",
      operationId: "submitTask",
      scope: "tasks:write",
      summary: "Submit a task in the session named in the body. `Prefer: wait=N` waits for it.",
      tag,
      status: 202,
      body: SubmitTaskRequest,
      response: Task,
      async handle(call) {
        if (call.body.session_id === undefined) {
          throw new HarnessError("invalid_request", "Missing required field: session_id", {
            param: "session_id",
          });
        }
        return await submit(call, call.body.session_id, stopped);
      },
    }),
    route({
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
    }),
    route({
      method: "POST",
      path: "/v1/sessions/{session_id}/tasks",
      operationId: "submitSessionTask",
      scope: "tasks:write",
      summary: "Submit a task in a session. `Prefer: wait=N` waits for it.",
      tag,
      status: 202,
      body: SubmitTaskRequest,
      response: Task,
      async handle(call) {
        const sessionId = call.param("session_id");
        const { session_id: said = sessionId } = call.body;
        if (said !== sessionId) {
          throw new HarnessError("invalid_request", "session_id differs from the session in the path.", {
            param: "session_id",
          });
        }
        return await submit(call, sessionId, stopped);
      },
    }),
    route({
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
    }),
    route({
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
    }),
    route({
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
    }),
    route({
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
    }),
    route({
      method: "POST",
      path: "/v1/tasks/{task_id}/retry",
      operationId: "retryTask",
      scope: "tasks:write",
      summary:
        "Retry a failed or canceled task: a new task keeps the recorded results up to the step that failed, or to `from_step`.",
      tag,
      status: 202,
      body: RetryTaskRequest,
      bodyOptional: true,
      response: Task,
      async handle(call) {
        const task = await call.dispatch(retryTask, {
          taskId: call.param("task_id"),
          fromStep: call.body.from_step,
          trace: traceIn(call.request.headers),
        });
        return await afterWaiting(call, task, stopped);
      },
    }),
    route({
      method: "POST",
      path: "/v1/tasks/{task_id}/replay",
      operationId: "replayTask",
      scope: "tasks:write",
      summary: "Run the log of a task again, as a new task, with other values if asked.",
      tag,
      status: 202,
      body: ReplayTaskRequest,
      bodyOptional: true,
      response: Task,
      async handle(call) {
        const trace = traceIn(call.request.headers);
        const request = { ...replayRequest(call.param("task_id"), call.body), trace };
        const task = await call.dispatch(replayTask, request);
        return await afterWaiting(call, task, stopped);
      },
    }),
    route({
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
    }),
    route({
      method: "GET",
      path: "/v1/permission-requests",
      operationId: "listPermissionRequests",
      scope: "tasks:read",
      summary: "List permission requests, pending and answered.",
      tag: "Permissions",
      query: pageQuery("session_id", "task_id"),
      response: ListOf(PermissionRequest),
      async handle(call) {
        const { session_id, task_id, cursor, limit } = call.query;
        const request = { sessionId: session_id, taskId: task_id, cursor, limit };
        return presentPage(
          await listPermissionRequests(call.kernel, call.caller, request),
          presentPermissionRequest,
        );
      },
    }),
    route({
      method: "GET",
      path: "/v1/tasks/{task_id}/permission-requests",
      operationId: "listTaskPermissionRequests",
      scope: "tasks:read",
      summary: "List the permission requests of a task.",
      tag: "Permissions",
      query: PageQuery,
      response: ListOf(PermissionRequest),
      async handle(call) {
        const { id: taskId } = await readTask(call.kernel, call.caller, call.param("task_id"));
        const page = await listRecords(call, call.caller, "permission_request", { taskId, ...call.query });
        return presentPage(page, presentPermissionRequest);
      },
    }),
    route({
      method: "GET",
      path: "/v1/permission-requests/{request_id}/proof",
      operationId: "readPermissionProof",
      scope: "tasks:read",
      summary: "What an approval rests on: the artifacts exactly as they were signed, and the signatures.",
      tag: "Permissions",
      response: PermissionProof,
      async handle(call) {
        return presentProof(await readProof(call.kernel, call.caller, call.param("request_id")));
      },
    }),
    route({
      method: "POST",
      path: "/v1/permission-requests/{request_id}/respond",
      operationId: "respondPermissionRequest",
      scope: "approvals:write",
      summary: "Approve or deny a permission request.",
      tag: "Permissions",
      body: PermissionResponseRequest,
      response: PermissionRequest,
      async handle(call) {
        const { answer, reviewer, reason, note, artifact_hash } = call.body;
        const request = await call.dispatch(respondPermissionRequest, {
          requestId: call.param("request_id"),
          approved: approvedOf(call.body),
          reason: reason ?? note ?? null,
          answer: jsonValue(answer),
          reviewer,
          artifactHash: artifact_hash,
        });
        return presentPermissionRequest(request);
      },
    }),
    route({
      method: "GET",
      path: "/v1/outcomes",
      operationId: "listOutcomes",
      scope: "outcomes:read",
      summary: "List outcomes, newest first.",
      tag: "Outcomes",
      query: pageQuery("workspace_id", "task_id"),
      response: ListOf(Outcome),
      async handle(call) {
        const { task_id, workspace_id, cursor, limit } = call.query;
        const request = { taskId: task_id, workspaceId: workspace_id, cursor, limit };
        const page = await listOutcomes(call.kernel, call.caller, request);
        return presentPage(page, (task) => presentOutcome(task, call));
      },
    }),
    route({
      method: "GET",
      path: "/v1/outcomes/{outcome_id}",
      operationId: "getOutcome",
      scope: "outcomes:read",
      summary: "Read an outcome.",
      tag: "Outcomes",
      response: Outcome,
      async handle(call) {
        return presentOutcome(await getOutcome(call.kernel, call.caller, call.param("outcome_id")), call);
      },
    }),
  ];
}
