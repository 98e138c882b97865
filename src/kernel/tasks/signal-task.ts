/** Send a signal to a task: kept in the order of arrival until its code waits for one of that name. */

import type { JsonValue } from "../../store/port.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { isFinal } from "./lifecycle.ts";

/** Signals that a task has and has not waited for yet: they are part of its record. */
const signalsMax = 100;

export const signalPattern = /^[A-Za-z][\w.-]{0,99}$/;

export interface SignalTask {
  taskId: string;
  name: string;
  payload: JsonValue;
}

export const signalTask: Command<SignalTask, TaskRecord> = {
  name: "signal_task",
  scope: "tasks:write",
  decide(unit, { taskId, name, payload }) {
    if (!signalPattern.test(name)) {
      const message =
        "A signal's name is a letter, then up to 99 letters, digits, dots, dashes and underscores.";
      throw new HarnessError("invalid_request", message, { param: "name" });
    }
    unit.hold(taskId);
    const task = unit.require("task", taskId);
    const about = { details: { task_id: task.id, status: task.status } };
    if (isFinal(task.status))
      throw new HarnessError(
        "invalid_state_transition",
        `Task ${task.id} is ${task.status} and takes no signals.`,
        about,
      );
    if (task.replay !== null)
      throw new HarnessError("policy_violation", `Task ${task.id} is a replay and takes no signals.`, about);
    if ((task.signals ?? []).length >= signalsMax) {
      const message = `Task ${task.id} has ${signalsMax} signals that it has not waited for; it takes no more.`;
      throw new HarnessError("conflict", message, about);
    }
    return unit.emit(task, "vendor.bridle.signal.received", {
      signal_id: unit.newId("signal"),
      name,
      payload: unit.seal(payload),
    });
  },
};
