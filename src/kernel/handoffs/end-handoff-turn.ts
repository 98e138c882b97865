/** What a remote agent came to: its result, a question of its own, or why there will be none. The run goes on with it. */

import type { Redactor } from "../../policy/redact/redact.ts";
import type { JsonObject } from "../../store/port.ts";
import type { Command } from "../core/dispatch.ts";
import type { EventPayloads, NetworkUse, StepSpan } from "../core/events.ts";
import type { HandoffRecord, Remote, RemoteReceipt } from "../kinds/handoff.ts";
import { settle } from "../quotas/ledger.ts";
import { isFinal } from "../tasks/lifecycle.ts";
import { moveTask } from "../tasks/tasks.ts";

export interface EndHandoffTurn {
  handoffId: string;
  taskId: string;
  /** The step that waited when the answer came; for another one it is no answer. */
  step: string;
  result: { output: JsonObject } | { error: { code: string; message: string } };
  /** Whether the remote is done with the work, however it ended. */
  isOver: boolean;
  remote: Remote | null;
  receipt?: RemoteReceipt | undefined;
  /** Where it was sent to since it was last followed. */
  network?: NetworkUse[];
  redactor: Redactor;
}

export const endHandoffTurn: Command<EndHandoffTurn, HandoffRecord | null> = {
  name: "end_handoff_turn",
  scope: "tasks:write",
  decide(unit, request) {
    const { handoffId, taskId, step, result, isOver, remote, receipt, network, redactor } = request;
    unit.redactor = redactor;
    // A busy run would otherwise be faster again and again.
    unit.hold(taskId);
    const handoff = unit.find("handoff", handoffId);
    const task = unit.find("task", taskId);
    if (handoff?.status !== "open" || handoff.step !== step) return null;
    if (task === undefined || isFinal(task.status)) return null;
    const answersPending = task.pending?.step === step;
    // The person was faster than the remote.
    if (isQuestion(step) && !answersPending) return null;
    if (step === handoff.first_step) settle(unit, task, step, { tool_calls: 1 });
    const span: StepSpan & Pick<EventPayloads["span.completed"], "handoff" | "network"> = {
      step,
      kind: "handoff",
      name: handoff.url,
      handoff: { handoff_id: handoff.id, is_over: isOver, ...ending(handoff, remote, receipt) },
      ...(network === undefined ? {} : { network }),
    };
    const told =
      "error" in result
        ? unit.emit(task, "span.failed", { ...span, result })
        : unit.emit(task, "span.completed", { ...span, result: { output: unit.seal(result.output) } });
    if (answersPending) moveTask(unit, told, "WORKING", "the remote agent goes on");
    return unit.emit(handoff, "vendor.bridle.handoff.updated", {
      changes: {
        step: null,
        outgoing: null,
        remote: remote ?? handoff.remote,
        status: isOver ? "ended" : "open",
        attempts: 0,
        problem: null,
        look_at: unit.at,
      },
    });
  },
};

/** A question of the remote is asked by the run in a step of its own. */
function isQuestion(step: string): boolean {
  return step.startsWith("ask:");
}

function ending(
  handoff: HandoffRecord,
  remote: Remote | null,
  receipt: RemoteReceipt | undefined,
): Pick<NonNullable<EventPayloads["span.completed"]["handoff"]>, "state" | "receipt"> {
  const { state } = remote ?? handoff.remote ?? {};
  return { ...(state === undefined ? {} : { state }), ...(receipt === undefined ? {} : { receipt }) };
}
