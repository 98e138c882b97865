/** `ctx.spawn`: another task of the same session, whose result the run waits for, out of memory if it takes long. */

import { HarnessError } from "../../kernel/core/errors.ts";
import type { StepSpan } from "../../kernel/core/events.ts";
import type { Unit } from "../../kernel/core/unit.ts";
import type { Part } from "../../kernel/kinds/message.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { noteRefusal } from "../../kernel/quotas/ledger.ts";
import { QuotaRefusal } from "../../kernel/quotas/refusal.ts";
import { type SubmitTask, submitTask } from "../../kernel/tasks/submit-task.ts";
import type { JsonObject } from "../../store/port.ts";
import type { Child, ChildResult, SpawnRequest } from "../agents/agent.ts";
import { AgentFailure } from "../run/failures.ts";
import { begunTurn } from "../run/journal.ts";
import { jsonCopy } from "../run/json.ts";
import { handled, never } from "../run/promises.ts";
import { outputOf } from "../run/recorded-steps.ts";
import type { Run } from "../run/run.ts";

export async function spawn(run: Run, { personaId, input }: SpawnRequest): Promise<Child> {
  const span: StepSpan = { step: run.key("spawn"), kind: "spawn", name: personaId ?? run.task.persona_id };
  const recorded = await run.recording.recallBegun(span.step);
  // The result takes its turn whether or not the agent ever asks for it.
  const ended = recorded?.ended == null ? null : run.recording.turnOf(span.step).then(() => recorded.ended);
  const childId = await begin();
  let result: Promise<ChildResult> | null = null;
  return {
    taskId: childId,
    result() {
      result ??= handled(resultOf());
      return result;
    },
  };

  async function begin(): Promise<string> {
    if (recorded === undefined) return await submitChild(run, span, personaId, input);
    const { begun, arrived, isBegunGiven } = recorded;
    if (begun?.event === "span.started" && begun.payload.child_task_id !== undefined) {
      await (isBegunGiven
        ? run.recording.turnOf(begunTurn(span.step))
        : run.recording.give(begunTurn(span.step)));
      return begun.payload.child_task_id;
    }
    // It was refused.
    if (arrived !== null) await run.recording.give(span.step);
    await outputOf(run, { ended: arrived ?? (await ended) });
    return await never();
  }

  async function resultOf(): Promise<ChildResult> {
    const event =
      (await ended) ??
      (await run.recording.wait({
        key: span.step,
        kind: "child",
        reason: `waits for task ${childId}`,
        until: null,
      }));
    if (event === "elapsed") return await never();
    // Written by the kernel when the child ended, in this very shape.
    return (await outputOf(run, { ended: event })) as ChildResult;
  }
}

/** A child that is refused is a step that failed, now and whenever the run is repeated. Only the commit can tell. */
async function submitChild(
  run: Run,
  span: StepSpan,
  personaId: string | undefined,
  input: SpawnRequest["input"],
): Promise<string> {
  const taskId = run.kernel.newId("task");
  const request: SubmitTask = {
    sessionId: run.task.session_id,
    personaId: personaId ?? run.task.persona_id,
    parentTaskId: run.task.id,
    parentStep: span.step,
    taskId,
    input: inputOf(input),
  };
  const seen: { refusal: HarnessError | null } = { refusal: null };
  await run.recording.note((unit, task) => {
    const child = submitOrRefuse(unit, request);
    seen.refusal = child instanceof HarnessError ? child : null;
    if (child instanceof HarnessError) {
      const { code, message } = child;
      return unit.emit(task, "span.failed", { ...span, result: { error: { code, message } } });
    }
    const { persona_id } = child;
    if (persona_id !== task.persona_id)
      unit.emit(task, "agent.handoff", { step: span.step, persona_id, task_id: taskId });
    return unit.emit(task, "span.started", { ...span, child_task_id: taskId });
  });
  await run.flush();
  await run.recording.give(seen.refusal === null ? begunTurn(span.step) : span.step);
  if (seen.refusal !== null) throw new AgentFailure(seen.refusal.code, seen.refusal.message);
  return taskId;
}

function inputOf(input: SpawnRequest["input"]): SubmitTask["input"] {
  if (typeof input === "string") return { payload: { text: input } };
  return isParts(input)
    ? { message: { role: "user", parts: jsonCopy(input) } }
    : { payload: jsonCopy(input) };
}

function isParts(input: JsonObject | Part[]): input is Part[] {
  return Array.isArray(input);
}

/** Submits the child with the records of its parent. A refusal leaves nothing of the child behind. */
function submitOrRefuse(unit: Unit, request: SubmitTask): TaskRecord | HarnessError {
  try {
    return submitTask.decide(unit, request);
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    if (error instanceof QuotaRefusal) noteRefusal(unit, error.quotaId);
    return error;
  }
}
