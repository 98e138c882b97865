/** Cancel a task: from any state that is not final to CANCELED, for good, and the children it waits for with it. */

import type { Caller } from "../../policy/caller.ts";
import type { Position } from "../../store/port.ts";
import { type Command, carryOut } from "../dispatch.ts";
import { HarnessError } from "../errors.ts";
import { everyPage } from "../every-page.ts";
import { isFinal, unfinished } from "../lifecycle.ts";
import type { TaskRecord } from "../resources/task.ts";
import { endTask } from "../tasks.ts";
import type { KernelDeps, Unit } from "../unit.ts";

/** Children ended in one commit with their parent; more, and those that were just being spawned, follow. */
const childrenMax = 500;

export const cancelTask: Command<{ taskId: string; reason?: string | null | undefined }, TaskRecord> = {
  name: "cancel_task",
  scope: "tasks:write",
  isAllowedWithoutRoom: true,
  async decide(unit, { taskId, reason = null }) {
    // A busy run, or that of a parent which waits for this one, would otherwise be faster again and again.
    await holdParent(unit, taskId);
    await unit.hold(taskId);
    const task = await unit.require("task", taskId);
    // A client that lost our first answer asks again; it must hear the same thing, not a conflict.
    if (task.status === "CANCELED") return task;
    if (isFinal(task.status)) {
      throw new HarnessError("conflict", `Task ${task.id} is already ${task.status}.`, {
        details: { task_id: task.id, status: task.status },
      });
    }
    const children = await holdChildren(unit, task.id);
    const canceled = await cancelOne(unit, task, reason);
    for (const child of children)
      await cancelOne(unit, child, parentCanceled(child.parent_task_id ?? task.id));
    return canceled;
  },
  afterwards: (deps, caller, { id }) => cancelTasks(deps, caller, { taskId: id }, parentCanceled(id)),
};

function parentCanceled(taskId: string): string {
  return `The parent task ${taskId} was canceled.`;
}

/** Parents come before children; who the parent is never changes. */
async function holdParent(unit: Unit, taskId: string): Promise<void> {
  const document = await unit.own.get("task", taskId);
  const task = document?.body as TaskRecord | undefined;
  if (task?.parent_task_id != null && task.parent_step !== null) await unit.hold(task.parent_task_id);
}

async function cancelOne(unit: Unit, task: TaskRecord, reason: string | null): Promise<TaskRecord> {
  const requested = unit.emit(task, "user.cancel_requested", { reason });
  return await endTask(unit, requested, { status: "CANCELED", reason });
}

/** The unfinished tasks below this one, all held before the first is ended: ending one holds quotas, and those come last. */
async function holdChildren(unit: Unit, taskId: string): Promise<TaskRecord[]> {
  const children = await unit.own.list({
    kind: "task",
    by: { taskId },
    statuses: unfinished,
    order: "oldest_first",
    limit: childrenMax,
  });
  const held: TaskRecord[] = [];
  for (const { id } of children) {
    await unit.hold(id);
    const child = await unit.findForHarness("task", id);
    if (child !== undefined && !isFinal(child.status)) held.push(child, ...(await holdChildren(unit, id)));
  }
  return held;
}

/** Cancels tasks that have not ended, each in a commit of its own. */
export async function cancelTasks(
  deps: KernelDeps,
  caller: Caller,
  by: { sessionId: string } | { taskId: string },
  reason: string,
  bornAfter?: Position,
): Promise<void> {
  for await (const tasks of everyPage(deps.store.of(caller.tenantId), {
    kind: "task",
    by,
    statuses: unfinished,
    bornAfter,
  })) {
    for (const { id } of tasks) await cancelQuietly(deps, caller, id, reason);
  }
}

/** A task that ended by itself in the meantime is as good as canceled here. */
async function cancelQuietly(
  deps: KernelDeps,
  caller: Caller,
  taskId: string,
  reason: string,
): Promise<void> {
  try {
    await carryOut(deps, cancelTask, caller, { taskId, reason });
  } catch (error) {
    if (!(error instanceof HarnessError && error.code === "conflict")) throw error;
  }
}
