/** What begins a task: submitting, retrying and replaying one. `stopped` ends the waiting for tasks when the server stops. */

import type { Static } from "typebox";
import { HarnessError } from "../../../kernel/core/errors.ts";
import type { TaskRecord } from "../../../kernel/kinds/task.ts";
import { type ReplayTask, replayTask } from "../../../kernel/replay/replay-task.ts";
import { retryTask } from "../../../kernel/replay/retry-task.ts";
import { awaitTask } from "../../../kernel/tasks/await-task.ts";
import { submitTask } from "../../../kernel/tasks/submit-task.ts";
import { traceIn } from "../../trace-headers.ts";
import { presentTask } from "../present-task.ts";
import { jsonObject, jsonValue, taskInput } from "../read-input.ts";
import { type Call, type Route, route } from "../route.ts";
import { ReplayTaskRequest, RetryTaskRequest, SubmitTaskRequest, Task } from "../schemas-task.ts";

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

export function submitTaskRoute(stopped: AbortSignal): Route {
  return route({
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
  });
}

export function submitSessionTaskRoute(stopped: AbortSignal): Route {
  return route({
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
  });
}

export function retryTaskRoute(stopped: AbortSignal): Route {
  return route({
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
  });
}

export function replayTaskRoute(stopped: AbortSignal): Route {
  return route({
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
  });
}
