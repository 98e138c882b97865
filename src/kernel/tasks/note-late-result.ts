/** A tool gave something after nobody waited for it any longer. The log knows it; nothing is made of it. */

import type { Redactor } from "../../policy/redact/redact.ts";
import type { JsonValue } from "../../store/port.ts";
import type { Command } from "../core/dispatch.ts";
import type { StepSpan } from "../core/events.ts";

export interface LateResultOf {
  taskId: string;
  span: StepSpan;
  result: { output: JsonValue } | { error: { code: string; message: string } };
  /** That of the run: it knows the secrets that the tool was given. */
  redactor: Redactor;
}

export const noteLateResult: Command<LateResultOf, null> = {
  name: "note_late_result",
  scope: "tasks:write",
  decide(unit, { taskId, span, result, redactor }) {
    unit.redactor = redactor;
    unit.hold(taskId);
    const task = unit.find("task", taskId);
    if (task === undefined) return null;
    const sealed = "error" in result ? redactor.value(result) : { output: unit.seal(result.output) };
    unit.emit(task, "vendor.bridle.step.late_result", { ...span, result: sealed });
    return null;
  },
};
