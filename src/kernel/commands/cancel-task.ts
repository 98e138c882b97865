/** Cancel a task: from any state that is not final to CANCELED, for good, and the children it waits for with it. */

import type { Command } from "../dispatch.ts";
import { HarnessError } from "../errors.ts";
import { isFinal } from "../lifecycle.ts";
import type { TaskRecord } from "../resources/task.ts";
import { endTask } from "../tasks.ts";
import type { Unit } from "../unit.ts";

/** Children ended in one commit with their parent; a run that spawned more cancels the rest as it stops. */
const childrenMax = 500;

export const cancelTask: Command<{ taskId: string; reason?: string | null | undefined }, TaskRecord> = {
  name: "cancel_task",
  scope: "tasks:write",
  async decide(unit, { taskId, reason = null }) {
    const task = await unit.require("task", taskId);
    // A client that lost our first answer asks again; it must hear the same thing, not a conflict.
    if (task.status === "CANCELED") return task;
    if (isFinal(task.status)) {
      throw new HarnessError("conflict", `Task ${task.id} is already ${task.status}.`, {
        details: { task_id: task.id, status: task.status },
      });
    }
    return await cancelWithChildren(unit, task, reason);
  },
};

async function cancelWithChildren(unit: Unit, task: TaskRecord, reason: string | null): Promise<TaskRecord> {
  const requested = unit.emit(task, "user.cancel_requested", { reason });
  const canceled = await endTask(unit, requested, { status: "CANCELED", reason });
  const children = await unit.deps.store.list({
    kind: "task",
    by: { taskId: task.id },
    statuses: ["SUBMITTED", "WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED"],
    order: "oldest_first",
    limit: childrenMax,
  });
  for (const { id } of children) {
    const child = await unit.find("task", id);
    if (child !== undefined && !isFinal(child.status)) {
      await cancelWithChildren(unit, child, `The parent task ${task.id} was canceled.`);
    }
  }
  return canceled;
}
