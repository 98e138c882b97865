/**
 * Wait until a task has ended or needs a person, at most for a given time or until the server stops, and give it as it is then. For the one who
 * just submitted it: that needs no scope beyond submitting.
 */

import type { Caller } from "../../policy/caller.ts";
import { notFound } from "../core/errors.ts";
import { askingEvents, terminalEvents } from "../core/events.ts";
import type { LogTail } from "../core/log-tail.ts";
import { findVisible, type ReadDeps } from "../core/read.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { isFinal } from "./lifecycle.ts";

export async function awaitTask(
  deps: ReadDeps & { tail: LogTail },
  caller: Caller,
  taskId: string,
  timeoutMs: number,
  stopped: AbortSignal,
): Promise<TaskRecord> {
  let settled = () => {};
  const change = new Promise<void>((resolve) => {
    settled = resolve;
  });
  const stop = deps.tail.on(`task:${taskId}`, ({ event, replay }) => {
    // A replay's copy of a question asks nobody.
    if (terminalEvents.has(event) || (askingEvents.has(event) && replay === undefined)) settled();
  });
  try {
    const task = await read(deps, caller, taskId);
    if (isFinal(task.status) || task.pending !== null) return task;
    const timer = setTimeout(settled, timeoutMs);
    stopped.addEventListener("abort", settled);
    if (!stopped.aborted) await change;
    clearTimeout(timer);
    stopped.removeEventListener("abort", settled);
  } finally {
    stop();
  }
  return await read(deps, caller, taskId);
}

async function read({ store }: ReadDeps, caller: Caller, taskId: string): Promise<TaskRecord> {
  const task = await findVisible(store, caller, "task", taskId);
  if (task === undefined) throw notFound("task", taskId);
  return task;
}
