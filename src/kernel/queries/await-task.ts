/** Wait until a task has ended or needs a person, at most for a given time, and give it as it is then. */

import type { Caller } from "../../policy/caller.ts";
import { isFinal } from "../lifecycle.ts";
import type { LogTail } from "../log-tail.ts";
import type { TaskRecord } from "../resources/task.ts";
import { getRecord, type ReadDeps } from "./read.ts";

export async function awaitTask(
  deps: ReadDeps & { tail: LogTail },
  caller: Caller,
  taskId: string,
  timeoutMs: number,
): Promise<TaskRecord> {
  let settled = () => {};
  const change = new Promise<void>((resolve) => {
    settled = resolve;
  });
  const stop = deps.tail.on(`task:${taskId}`, ({ event }) => {
    if (settling.has(event)) settled();
  });
  try {
    const task = await getRecord(deps, caller, "task", taskId);
    if (isFinal(task.status) || task.pending !== null) return task;
    await Promise.race([change, timer(timeoutMs)]);
  } finally {
    stop();
  }
  return await getRecord(deps, caller, "task", taskId);
}

const settling: ReadonlySet<string> = new Set([
  "task.completed",
  "task.failed",
  "task.canceled",
  "task.input_required",
  "task.auth_required",
]);

function timer(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
