/** What may follow what. Data, so that code, tests and documents all read the same table. */

import { HarnessError } from "../core/errors.ts";

export type TaskStatus =
  | "SUBMITTED"
  | "WORKING"
  | "INPUT_REQUIRED"
  | "AUTH_REQUIRED"
  | "COMPLETED"
  | "FAILED"
  | "CANCELED";

export const taskTransitions = {
  SUBMITTED: ["WORKING", "CANCELED", "FAILED"],
  WORKING: ["INPUT_REQUIRED", "AUTH_REQUIRED", "COMPLETED", "FAILED", "CANCELED"],
  INPUT_REQUIRED: ["WORKING", "FAILED", "CANCELED"],
  AUTH_REQUIRED: ["WORKING", "FAILED", "CANCELED"],
  COMPLETED: [],
  FAILED: [],
  CANCELED: [],
} as const satisfies Record<TaskStatus, readonly TaskStatus[]>;

export type SessionState = "ACTIVE" | "IDLE" | "PAUSED" | "CLOSED" | "FAILED";

// A constant object has no other keys than these.
export const taskStatuses = Object.keys(taskTransitions) as TaskStatus[];

/** The states from which a task can still go on. */
export const unfinished = taskStatuses.filter((status) => !isFinal(status));

export function isFinal(status: TaskStatus): boolean {
  return taskTransitions[status].length === 0;
}

export function mayMove(from: TaskStatus, to: TaskStatus): boolean {
  return (taskTransitions[from] as readonly TaskStatus[]).includes(to);
}

export function assertMove(taskId: string, from: TaskStatus, to: TaskStatus): void {
  if (mayMove(from, to)) return;
  throw new HarnessError("invalid_state_transition", `Task ${taskId} is ${from} and cannot become ${to}.`, {
    details: { task_id: taskId, from, to, allowed: taskTransitions[from] },
  });
}
