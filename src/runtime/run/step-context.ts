/** What a step's code is given, and whether it is still running: some things are there inside of a step only. */

import type { StepSpan } from "../../kernel/core/events.ts";
import { inTime, type LateResult } from "../../tools/in-time.ts";
import type { StepContext } from "../agents/agent.ts";
import { StepTimeout } from "./failures.ts";
import { noteLate } from "./late-result.ts";
import { attemptStep, failedStep } from "./recorded-steps.ts";
import type { Attempted } from "./recording.ts";
import type { Run } from "./run.ts";

const running = new WeakMap<StepContext, StepSpan["kind"]>();

export function attemptOf(
  run: Run,
  span: StepSpan,
  code: (step: StepContext) => unknown,
  timeoutMs?: number,
): (attempt?: number) => Promise<Attempted> {
  const { step, kind } = span;
  return async (attempt = 1) => {
    const within = async (signal: AbortSignal) => {
      const idempotencyKey = run.recording.idempotencyKey(step);
      const context = { signal, attempt, idempotencyKey, traceHeaders: { ...run.traceOf(step) } };
      running.set(context, kind);
      try {
        return await code(context);
      } finally {
        running.delete(context);
      }
    };
    if (timeoutMs === undefined) return await attemptStep(() => within(run.signal));
    const onLate = (late: LateResult) => void lateOf(late).then((result) => noteLate(run, span, result));
    const timeout = () => new StepTimeout(span.name, timeoutMs);
    return await attemptStep(() => inTime(within, { timeoutMs, timeout, signal: run.signal, onLate }));
  };
}

async function lateOf(late: LateResult): Promise<Attempted> {
  return "error" in late ? failedStep(late.error) : await attemptStep(() => late.output);
}

/** The kind of a step whose code is running; nothing for one that is over, or never was. */
export function runningKind(step: StepContext): StepSpan["kind"] | undefined {
  return running.get(step);
}
