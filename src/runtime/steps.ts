/** What every kind of step does with what its code gave: try it, write it down, give it again from the log. */

import { unseal } from "../kernel/content.ts";
import type { KernelEvent, StepSpan } from "../kernel/events.ts";
import type { StepResult } from "../kernel/resources/task.ts";
import type { JsonValue } from "../store/port.ts";
import { AgentFailure } from "./failures.ts";
import type { Attempted, Run } from "./run.ts";

export async function attemptStep(code: () => unknown): Promise<Attempted> {
  try {
    const output = await code();
    return { output: output === undefined ? null : JSON.parse(JSON.stringify(output)) };
  } catch (error) {
    const name = error instanceof AgentFailure ? error.code : "step_failed";
    const message = error instanceof Error ? error.message : String(error);
    return { error: { code: name, message } };
  }
}

export async function noteResult(run: Run, span: StepSpan, attempted: Attempted): Promise<void> {
  await run.note((unit, task) => {
    const result: StepResult = "error" in attempted ? attempted : { output: unit.seal(attempted.output) };
    return unit.emit(task, "error" in attempted ? "span.failed" : "span.completed", { ...span, result });
  });
}

/** Runs the code of a step and records what it gave. */
export async function performStep(run: Run, span: StepSpan, code: () => unknown): Promise<JsonValue> {
  const result = await run.perform(async () => {
    // What the agent sees now must be what it will see when the step comes from the journal.
    const attempted = run.redactor.value(await attemptStep(code));
    await noteResult(run, span, attempted);
    return attempted;
  });
  if ("error" in result) throw new AgentFailure(result.error.code, result.error.message);
  return result.output;
}

/** The recorded result of a step, or the recorded error, thrown again. */
export async function outputOf(run: Run, { ended }: { ended: KernelEvent | null }): Promise<JsonValue> {
  if (ended?.event !== "span.completed" && ended?.event !== "span.failed") return null;
  const { result } = ended.payload;
  if ("error" in result) throw new AgentFailure(result.error.code, result.error.message);
  return await unseal(result.output, run.kernel.store);
}
