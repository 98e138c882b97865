/** Reading tasks, listing them, and having them stop. */

import {
  type CancelTaskRequest,
  type GetTaskRequest,
  type ListTasksRequest,
  type ListTasksResponseJson,
  type TaskJson,
  TaskState,
} from "../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { requireScope } from "../../kernel/access/authorize.ts";
import { sha256Hex } from "../../kernel/core/content.ts";
import { HarnessError, notFound } from "../../kernel/core/errors.ts";
import { findVisible } from "../../kernel/core/read.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { sessionIdOf } from "../../kernel/sessions/send-message.ts";
import { cancelTask as cancelTaskCommand } from "../../kernel/tasks/cancel-task.ts";
import { isFinal } from "../../kernel/tasks/lifecycle.ts";
import { rankedTasks } from "../../kernel/tasks/ranked-tasks.ts";
import { noteTaskRead } from "../../kernel/tasks/read-tasks.ts";
import type { Call } from "./call.ts";
import { InvalidParams, OpvsError, type Violation } from "./errors.ts";
import { detailOf, presentRecord } from "./present-task.ts";

const pageSizeDefault = 50;
const pageSizeMax = 100;
/** Longer ids than this are nobody's, and not said again. */
const idCharsMax = 200;

/** A task that the caller may see, and that is one of the agent which was addressed. */
export async function visibleTask({ kernel, caller, agent }: Call, id: string): Promise<TaskRecord> {
  const known = id.length > idCharsMax ? `${id.slice(0, 20)}…` : id;
  const task = await findVisible(kernel.store, caller, "task", known);
  if (task === undefined || (agent !== null && task.agent.name !== agent)) throw notFound("task", known);
  return task;
}

export async function getTask(call: Call, request: GetTaskRequest): Promise<TaskJson> {
  requireHistoryLength(request.historyLength);
  const task = await visibleTask(call, request.id);
  await noteTaskRead(call.kernel, call.caller, task);
  return await presentRecord(call, task, detailOf(request.historyLength));
}

export async function cancelTask(call: Call, request: CancelTaskRequest): Promise<TaskJson> {
  const { kernel, caller } = call;
  // The answer is the task.
  requireScope(caller, "tasks:read");
  const task = await visibleTask(call, request.id);
  if (isFinal(task.status) && task.status !== "CANCELED") throw notCancelable(task.id, task.status);
  const reason = typeof request.metadata?.reason === "string" ? request.metadata.reason : null;
  try {
    const { result } = await kernel.dispatch(cancelTaskCommand, caller, { taskId: task.id, reason });
    return await presentRecord(call, result, detailOf(undefined));
  } catch (error) {
    // It ended while it was being canceled.
    if (error instanceof HarnessError && error.code === "conflict") {
      throw notCancelable(task.id, String(error.details.status ?? task.status));
    }
    throw error;
  }
}

function notCancelable(taskId: string, status: string): OpvsError {
  return new OpvsError("TASK_NOT_CANCELABLE", `Task ${taskId} is already ${status}.`, { taskId });
}

export async function listTasks(call: Call, request: ListTasksRequest): Promise<ListTasksResponseJson> {
  const { kernel, caller, agent, isAnonymous } = call;
  const { contextId, status, pageToken, historyLength, includeArtifacts = false } = request;
  const { pageSize = pageSizeDefault } = request;
  requireHistoryLength(historyLength);
  if (pageSize < 1 || pageSize > pageSizeMax) {
    throw new InvalidParams([{ field: "pageSize", description: `is from 1 to ${pageSizeMax}` }]);
  }
  // Whoever has no name shares one with all others, and must know what to ask for.
  if (isAnonymous && contextId === "") {
    throw new InvalidParams([{ field: "contextId", description: "is required without credentials" }]);
  }
  const from = request.statusTimestampAfter;
  const filter = {
    sessionId: contextId === "" ? undefined : sessionIdOf(caller, contextId),
    agent: agent ?? undefined,
    statuses: status === TaskState.UNSPECIFIED ? undefined : [TaskState[status]],
    // A time between two milliseconds is after the first of them.
    from: from === undefined ? undefined : Number(from.seconds) * 1000 + Math.ceil(from.nanos / 1_000_000),
  };
  const filterHash = sha256Hex(JSON.stringify([caller.tenantId, filter])).slice(0, 16);
  const beyond = pageToken === "" ? undefined : readToken(pageToken, filterHash);
  const { tasks, total, next } = await rankedTasks(kernel, caller, { ...filter, beyond, limit: pageSize });
  const detail = { historyLength: historyLength ?? 0, withArtifacts: includeArtifacts };
  const shown = await Promise.all(tasks.map((task) => presentRecord(call, task, detail)));
  return {
    tasks: includeArtifacts ? shown.map((task) => ({ ...task, artifacts: task.artifacts ?? [] })) : shown,
    nextPageToken: next === null ? "" : writeToken(next, filterHash),
    pageSize,
    totalSize: total,
  };
}

function requireHistoryLength(length: number | undefined): void {
  if ((length ?? 0) >= 0) return;
  throw new InvalidParams([{ field: "historyLength", description: "is not negative" }]);
}

interface PagePoint {
  rank: number;
  id: string;
}

/** A token is good for the list that it was given out for. */
function writeToken({ rank, id }: PagePoint, filterHash: string): string {
  return Buffer.from(JSON.stringify([rank, id, filterHash])).toString("base64url");
}

function readToken(token: string, filterHash: string): PagePoint {
  const violation: Violation = { field: "pageToken", description: "is none that this list gave out" };
  try {
    const parsed: unknown = JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
    const [rank, id, hash] = Array.isArray(parsed) ? parsed : [];
    if (Number.isSafeInteger(rank) && typeof id === "string" && hash === filterHash) return { rank, id };
  } catch {
    // Not even JSON; refused like any other.
  }
  throw new InvalidParams([violation]);
}
