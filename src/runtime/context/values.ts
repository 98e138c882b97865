/** `ctx.now`, `ctx.random`, `ctx.uuid` and `ctx.checkpoint`: values that the world gives for free, the same in every run of a task. */

import type { StepSpan } from "../../kernel/core/events.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import type { JsonValue } from "../../store/port.ts";
import type { AgentContext } from "../agents/agent.ts";
import { outputOf } from "../run/recorded-steps.ts";
import type { Run } from "../run/run.ts";

type Choose<T> = (task: TaskRecord, step: string) => T;

export function valuesOf(run: Run): Pick<AgentContext, "now" | "random" | "uuid" | "checkpoint"> {
  const { kernel } = run;
  return {
    now: async (label = "now") =>
      new Date(await value(run, named(run, "time", label), () => kernel.clock.now())),
    random: (label = "random") => chosen(run, label, kernel.chance.random),
    uuid: (label = "uuid") => chosen(run, label, kernel.chance.uuid),
    async checkpoint(name) {
      await value(run, named(run, "checkpoint", name), () => null);
    },
  };
}

/** A step of its own name, which is written down and so must not be a secret. */
function named(run: Run, kind: "time" | "random" | "checkpoint", given: string): StepSpan {
  const name = run.redactor.text(given);
  return { step: run.key(`${kind}:${name}`), kind, name };
}

/** Noted at once, on disk before anybody outside can see what came of it. */
async function value<T extends JsonValue>(run: Run, span: StepSpan, make: () => T): Promise<T> {
  const recorded = await run.recording.recall(span.step);
  if (recorded !== undefined) return (await outputOf(run, recorded)) as T;
  const made = make();
  await run.recording.note((unit, current) =>
    unit.emit(current, "span.completed", { ...span, result: { output: unit.seal<JsonValue>(made) } }),
  );
  return made;
}

/** A value that chance gives. */
function chosen<T extends JsonValue>(run: Run, label: string, choose: Choose<T>): Promise<T> {
  const span = named(run, "random", label);
  return value(run, span, () => choose(run.task, span.step));
}
