/** The command that writes what a run has in its outbox, in one commit. */

import type { Command } from "../../kernel/core/dispatch.ts";
import type { Unit } from "../../kernel/core/unit.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { isFinal } from "../../kernel/tasks/lifecycle.ts";
import type { Redactor } from "../../policy/redact/redact.ts";

/** Something to record: looks at the task as it is now and emits. May be called again after a conflict. */
export type Change = (unit: Unit, task: TaskRecord) => TaskRecord;

/** The task has ended, or never was. */
export class Superseded extends Error {}

interface RunRecords {
  taskId: string;
  /** Set with the end of a child that its parent waits for. */
  parentId: string | null;
  changes: Change[];
  redactor: Redactor;
}

export const recordRun: Command<RunRecords, TaskRecord> = {
  name: "record_run",
  scope: "tasks:write",
  isAhead: true,
  decide(unit, { taskId, parentId, changes, redactor }) {
    unit.redactor = redactor;
    // A busy parent would otherwise be faster again and again. Parents come before children, here and in a cancellation.
    if (parentId !== null) unit.hold(parentId);
    unit.hold(taskId);
    // A run that started ahead of its task's submission finds no task when that failed.
    let task = unit.find("task", taskId);
    if (task === undefined || isFinal(task.status)) throw new Superseded();
    for (const change of changes) task = change(unit, task);
    // A receipt that is made meanwhile (the task is being canceled) must not miss what is recorded here.
    unit.touch(task);
    return task;
  },
};
