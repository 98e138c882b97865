/**
 * The attempts of one step. A failed attempt that is to be repeated is on disk, with its number, its error and the time of the next one, before
 * anything waits for that time. So a crash in between does not reset the count, and a long wait is spent out of memory. The result of
 * the step is that of the last attempt, and is all that the agent ever sees.
 */

import type { EventPayloads, StepSpan } from "../../kernel/core/events.ts";
import { ToolValueInvalid } from "../../tools/attempt.ts";
import { CircuitOpen } from "../../tools/circuit-breaker.ts";
import { delayAfter, isClientError, type RetryPolicy } from "../../tools/retry.ts";
import { networkUses } from "./egress.ts";
import { AgentFailure } from "./failures.ts";
import { never } from "./promises.ts";
import type { Attempted, Recorded } from "./recording.ts";
import type { Run } from "./run.ts";
import { stackOf } from "./stack.ts";

export type AttemptFailed = EventPayloads["vendor.bridle.step.attempt_failed"];

/** Whether an error may pass by itself: not what its author has named, nor what is wrong with the request. */
export function mayPass(error: unknown): boolean {
  if (error instanceof CircuitOpen) return true;
  return !(error instanceof AgentFailure || error instanceof ToolValueInvalid || isClientError(error));
}

export const noRetries: RetryPolicy = {
  retries: 0,
  backoff: { initialMs: 1, factor: 1, maxMs: 1, jitter: false },
  retryIf: () => false,
};

export interface Attempts {
  policy: RetryPolicy;
  /** Under an approval, which is used once: a process that dies between two attempts does not try again. */
  isApproved: boolean;
  /** One attempt; it gets the attempt's number. */
  attempt: (attempt: number) => Promise<Attempted>;
  /** Records the result, with what the last attempt threw. */
  conclude: (result: Recorded, last: { attempts: number }) => Promise<void>;
}

export async function performAttempts(run: Run, span: StepSpan, attempts: Attempts): Promise<Recorded> {
  const earlier = run.recording.journal.attemptFailed(span.step);
  if (earlier !== undefined) await untilDue(run, span, earlier, attempts);
  for (let attempt = (earlier?.attempt ?? 0) + 1; ; attempt++) {
    const { result, failed } = await run.perform(() => attemptOnce(run, span, attempt, attempts), span);
    if (failed === null) return result;
    await untilDue(run, span, failed, attempts);
  }
}

async function attemptOnce(
  run: Run,
  span: StepSpan,
  attempt: number,
  { policy, attempt: make, conclude }: Attempts,
): Promise<{ result: Recorded; failed: AttemptFailed | null }> {
  const made = await make(attempt);
  if ("error" in made && made.thrown !== undefined) run.reportThrown(span, made.thrown);
  // What the agent sees now must be what it will see when the step comes from the journal.
  const result = await run.redact((redactor) => redactor.value(recordedOf(made)));
  const failed = await failedAttempt(run, span, { policy, attempt, made, result });
  if (failed === null) await conclude(result, { attempts: attempt });
  return { result, failed };
}

/** Without the error itself, which is no JSON. */
function recordedOf(made: Attempted): Recorded {
  if ("output" in made) return made;
  const { error, thrown } = made;
  return thrown === undefined ? { error } : { error, stack: stackOf(thrown) };
}

/** Null for an attempt that is not repeated; otherwise its record, which is on the way to the disk. */
async function failedAttempt(
  run: Run,
  span: StepSpan,
  {
    policy,
    attempt,
    made,
    result,
  }: { policy: RetryPolicy; attempt: number; made: Attempted; result: Recorded },
): Promise<AttemptFailed | null> {
  if (!("error" in made && "error" in result) || run.signal.aborted) return null;
  const nowMs = run.kernel.clock.now();
  const random = () => run.kernel.chance.random(run.task, `${span.step} attempt ${attempt}`);
  const delayMs = delayAfter(policy, { error: made.thrown, attempt, nowMs, random });
  if (delayMs === null) return null;
  const retry_at = new Date(nowMs + delayMs).toISOString();
  const failed = { ...span, attempt, error: result.error, retry_at, delay_ms: delayMs };
  // A replay that tries a live step again does so for itself; nobody goes on from there.
  if (run.recording.isReplay) return failed;
  const { stack } = result;
  const network = networkUses();
  await run.record((unit, task) => {
    const details = stack === undefined ? {} : { stack: unit.seal(stack) };
    return unit.emit(task, "vendor.bridle.step.attempt_failed", { ...failed, ...details, ...network });
  });
  return failed;
}

async function untilDue(
  run: Run,
  span: StepSpan,
  { attempt, error, retry_at, delay_ms }: AttemptFailed,
  { isApproved, policy }: Attempts,
): Promise<void> {
  const { id } = run.task;
  if (isApproved || run.recording.isReplay) return await run.pause(delay_ms).catch(never);
  const name = `${span.step} attempt ${attempt}`;
  const wait = { ms: delay_ms, until: Date.parse(retry_at) };
  const reason = `retries ${span.name} (attempt ${attempt + 1} of ${policy.retries + 1}): ${error.message}`;
  for (let left = run.sleeps.left(id, name, wait); left > 0; left = run.sleeps.left(id, name, wait)) {
    await run.recording.wait({ key: span.step, kind: "timer", reason, until: run.kernel.clock.now() + left });
  }
  run.sleeps.forget(id, name);
}
