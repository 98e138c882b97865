/** Host calls: what they are called, and which tasks of a session wait for one. */

import type { TenantStore } from "../../store/port.ts";
import { paginate } from "../core/paginate.ts";
import type { HostCall, TaskRecord } from "../kinds/task.ts";
import { unfinished } from "./lifecycle.ts";

/** What a capability is called: `clipboard.read`, `ide.open-file`. It becomes part of step keys. */
export const capabilityPattern = "^[A-Za-z][A-Za-z0-9_.-]{0,99}$";

/** What a shell is asked to do is a call of its own kind of host: `shell.simulate_action`. */
export const shellPrefix = "shell.";

/** A call is named after the step that waits for it, so that its answer finds the task. */
export function callIdOf(taskId: string, step: string): string {
  return `${taskId}:${step}`;
}

export function taskOfCall(callId: string): string {
  return callId.split(":", 1)[0] ?? "";
}

export interface OpenHostCall {
  task: TaskRecord;
  call: HostCall;
}

/** The open calls of a session's tasks, oldest task first. */
export async function* openHostCalls(store: TenantStore, sessionId: string): AsyncGenerator<OpenHostCall> {
  const tasks = paginate(store, { kind: "task", by: { sessionId }, statuses: unfinished });
  for await (const page of tasks) {
    for (const { body } of page) {
      const task = body as TaskRecord;
      for (const call of task.host_calls ?? []) yield { task, call };
    }
  }
}

/** The call as it is now; nothing when it has been answered, has expired or is no longer wanted. */
export async function findOpenCall(store: TenantStore, callId: string): Promise<OpenHostCall | undefined> {
  const document = await store.get("task", taskOfCall(callId));
  const task = document?.body as TaskRecord | undefined;
  const call = task?.host_calls?.find((open) => open.call_id === callId);
  return task === undefined || call === undefined ? undefined : { task, call };
}
