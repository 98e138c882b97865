/** Cancel a task: from any state that is not final to CANCELED, for good, and the children it waits for with it. */

import type { Caller } from "../../policy/caller.ts";
import type { Position, TenantStore } from "../../store/port.ts";
import { type Command, runCommand } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import { paginate } from "../core/paginate.ts";
import type { KernelDeps, Unit } from "../core/unit.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { isFinal, unfinished } from "./lifecycle.ts";
import { endTask } from "./tasks.ts";

/** Children ended in one commit with their parent; more, and those that were just being spawned, follow. */
const childrenMax = 500;

export const cancelTask: Command<{ taskId: string; reason?: string | null | undefined }, TaskRecord> = {
  name: "cancel_task",
  scope: "tasks:write",
  isAllowedWithoutRoom: true,
  decide(unit, { taskId, reason = null }) {
    // A busy run, or that of a parent which waits for this one, would otherwise be faster again and again.
    holdParent(unit, taskId);
    unit.hold(taskId);
    const task = unit.require("task", taskId);
    // A client that lost our first answer asks again; it must hear the same thing, not a conflict.
    if (task.status === "CANCELED") return task;
    if (isFinal(task.status)) {
      throw new HarnessError("conflict", `Task ${task.id} is already ${task.status}.`, {
        details: { task_id: task.id, status: task.status },
      });
    }
    const children = holdChildren(unit, task.id);
    const canceled = cancelOne(unit, task, reason);
    for (const child of children) cancelOne(unit, child, parentCanceled(child.parent_task_id ?? task.id));
    return canceled;
  },
  afterwards: (deps, caller, { id }) => cancelTasks(deps, caller, { taskId: id }, parentCanceled(id)),
};

function parentCanceled(taskId: string): string {
  return `The parent task ${taskId} was canceled.`;
}

/** Parents come before children; who the parent is never changes. */
function holdParent(unit: Unit, taskId: string): void {
  const task = unit.peek("task", taskId);
  if (task?.parent_task_id != null && task.parent_step !== null) unit.hold(task.parent_task_id);
}

function cancelOne(unit: Unit, task: TaskRecord, reason: string | null): TaskRecord {
  const requested = unit.emit(task, "user.cancel_requested", { reason });
  return endTask(unit, requested, { status: "CANCELED", reason });
}

/**
 * The unfinished tasks below this one, all held before the first is ended: ending one holds quotas, and those come last. Level by
 * level, and each is held before its children are looked for, so that it cannot get another one meanwhile.
 */
function holdChildren(unit: Unit, taskId: string): TaskRecord[] {
  const held: TaskRecord[] = [];
  for (let parents = [taskId]; parents.length > 0; ) {
    const name = `children of ${parents.join()}`;
    const ids = unit.awaited(name, () => unfinishedChildren(unit.own, parents));
    unit.hold(...ids);
    unit.prefetch(ids.map((id) => ({ kind: "task", id })));
    const children = ids.flatMap((id) => unit.findAsSystem("task", id) ?? []);
    const running = children.filter(({ status }) => !isFinal(status));
    held.push(...running);
    parents = running.map(({ id }) => id);
  }
  return held;
}

async function unfinishedChildren(own: TenantStore, parentIds: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const taskId of parentIds) {
    const query = { kind: "task", by: { taskId }, statuses: unfinished, order: "oldest_first" } as const;
    found.push(...(await own.list({ ...query, limit: childrenMax })).map(({ id }) => id));
  }
  return found;
}

/** Cancels tasks that have not ended, each in a commit of its own. */
export async function cancelTasks(
  deps: KernelDeps,
  caller: Caller,
  by: { sessionId: string } | { taskId: string },
  reason: string,
  bornAfter?: Position,
): Promise<void> {
  for await (const tasks of paginate(deps.store.of(caller.tenantId), {
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
    await runCommand(deps, cancelTask, caller, { taskId, reason });
  } catch (error) {
    if (!(error instanceof HarnessError && error.code === "conflict")) throw error;
  }
}
