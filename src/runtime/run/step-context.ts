/** What a step's code is given, and whether it is still running: some things are there inside of a step only. */

import type { StepSpan } from "../../kernel/core/events.ts";
import type { StepContext } from "../agents/agent.ts";
import { attemptStep } from "./recorded-steps.ts";
import type { Attempted, Run } from "./run.ts";

const running = new WeakMap<StepContext, StepSpan["kind"]>();

export function attemptOf(
  run: Run,
  { step, kind }: StepSpan,
  code: (step: StepContext) => unknown,
): () => Promise<Attempted> {
  return async () => {
    const context: StepContext = {
      signal: run.signal,
      idempotencyKey: `${run.task.id}:${step}`,
      traceHeaders: { ...run.traceOf(step) },
    };
    running.set(context, kind);
    try {
      return await attemptStep(() => code(context));
    } finally {
      running.delete(context);
    }
  };
}

/** The kind of a step whose code is running; nothing for one that is over, or never was. */
export function runningKind(step: StepContext): StepSpan["kind"] | undefined {
  return running.get(step);
}
