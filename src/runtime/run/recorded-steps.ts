/** The life of a step: taken from the journal, or run once within what the task may use, and recorded with its result. */

import { timestamp } from "../../kernel/core/clock.ts";
import { unseal } from "../../kernel/core/content.ts";
import { HarnessError } from "../../kernel/core/errors.ts";
import type { EventPayloads, KernelEvent, StepSpan } from "../../kernel/core/events.ts";
import type { Unit } from "../../kernel/core/unit.ts";
import type { Amounts } from "../../kernel/kinds/quota.ts";
import { settle } from "../../kernel/quotas/ledger.ts";
import { failPoint } from "../../store/fail-point.ts";
import type { JsonValue } from "../../store/port.ts";
import type { RetryPolicy } from "../../tools/retry.ts";
import { withinBudget } from "./budget.ts";
import { networkUses } from "./egress.ts";
import { AgentFailure, StepTimeout } from "./failures.ts";
import type { Permit } from "./permits.ts";
import type { Change } from "./record-run.ts";
import type { Attempted, Recorded } from "./recording.ts";
import type { Run } from "./run.ts";
import { noRetries, performAttempts } from "./step-attempts.ts";
import { announceTool, type ToolCallRequest, tellToolEnding, toolCallOf } from "./tool-events.ts";

/** What a step that reaches out counts as. */
export const oneCall: Amounts = { tool_calls: 1 };

export interface StepCost {
  /** What it counts as, whatever it gives. */
  amounts?: Amounts;
  /** What it used of the budget, for the receipt. */
  spent?: Amounts;
  /** What is told right before the record. */
  before?: Change;
}

export interface StepTerms extends StepCost {
  /** The approval without which its code must not run. */
  permit?: Permit | undefined;
  /** The model that code of the agent calls, as it says. */
  declaredModel?: string | undefined;
  /** The tool call that the step is instead of. */
  toolCall?: ToolCallRequest;
  retry?: RetryPolicy;
}

export async function performStep(
  run: Run,
  span: StepSpan,
  attempt: (attempt: number) => Promise<Attempted>,
  { permit, declaredModel, toolCall, retry = noRetries, ...cost }: StepTerms = {},
): Promise<JsonValue> {
  const { amounts = {} } = cost;
  await withinBudget(run, span.step, amounts);
  const recorded = await run.recording.recall(span.step);
  if (recorded !== undefined && (permit === undefined || recorded.ended !== null)) {
    return await outputOf(run, recorded);
  }
  if (permit !== undefined) await run.recording.beforeUsing(span.step);
  const declared = declaredModel === undefined ? {} : { declared_model: declaredModel };
  const before = toolCall === undefined ? {} : { before: announceTool(toolCall) };
  const begin = async () => (await permit?.use(span)) ?? null;
  return resultOf(
    await performRecorded(
      run,
      span,
      { begin, attempt, retry, isApproved: permit !== undefined },
      (result, said) =>
        noteResult(run, span, result, { ...cost, amounts, ...before }, (unit) => ({
          ...said,
          ...declared,
          ...(toolCall === undefined ? {} : { tool_call: toolCallOf(unit, toolCall) }),
        })),
    ),
  );
}

export interface PerformedStep {
  /** Comes before the first attempt, and may forbid it. */
  begin: () => Promise<{ code: string; message: string } | null>;
  attempt: (attempt: number) => Promise<Attempted>;
  retry: RetryPolicy;
  isApproved: boolean;
}

/** Runs the code of a step, as often as it takes, and has its result recorded. */
export async function performRecorded(
  run: Run,
  span: StepSpan,
  { begin, attempt, retry, isApproved }: PerformedStep,
  note: (result: Recorded, said: Pick<Said, "started_at" | "attempts">) => Promise<void>,
): Promise<Recorded> {
  let started_at: string | null = null;
  return await performAttempts(run, span, {
    policy: retry,
    isApproved,
    async attempt(number) {
      const isFirst = started_at === null;
      started_at ??= timestamp(run.kernel.clock.now());
      const refusal = isFirst ? await begin() : null;
      return refusal === null ? await attempt(number) : { error: refusal };
    },
    async conclude(result, { attempts }) {
      const more = attempts === 1 ? {} : { attempts };
      await note(result, { ...(started_at === null ? {} : { started_at }), ...more });
    },
  });
}

/** What the agent is given: the output, or the error, thrown. */
export function resultOf(recorded: Recorded): JsonValue {
  if ("error" in recorded) throw new AgentFailure(recorded.error.code, recorded.error.message);
  return recorded.output;
}

/** What the persona forbids is a step that failed, in the log and for the agent. */
export async function allowed(
  run: Run,
  span: StepSpan,
  check: () => void,
  terms: Pick<StepTerms, "toolCall"> = {},
): Promise<void> {
  try {
    check();
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    const { code, message, details } = error;
    await performStep(run, span, async () => ({ error: { code, message } }), terms).catch(() => {});
    throw new AgentFailure(code, message, details);
  }
}

export async function attemptStep(code: () => unknown): Promise<Attempted> {
  try {
    const output = await code();
    failPoint("step.done");
    return { output: output === undefined ? null : JSON.parse(JSON.stringify(output)) };
  } catch (error) {
    return failedStep(error);
  }
}

/** What code of the agent threw. */
export function failedStep(thrown: unknown): Extract<Attempted, { error: unknown }> {
  const isNamed = thrown instanceof AgentFailure || thrown instanceof StepTimeout;
  const code = isNamed ? thrown.code : "step_failed";
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { error: { code, message }, thrown };
}

type Said = Pick<
  EventPayloads["span.completed"],
  "from_vault" | "model_call" | "started_at" | "tool_call" | "declared_model" | "attempts"
>;

export async function noteResult(
  run: Run,
  span: StepSpan,
  recorded: Recorded,
  { amounts, spent, before }: StepCost = {},
  /** What else the record says of the step. */
  said: (unit: Unit) => Said = () => ({}),
): Promise<void> {
  const network = networkUses();
  await run.recording.note((unit, task) => {
    if (amounts !== undefined) settle(unit, task, span.step, amounts);
    const more = { ...(spent === undefined ? {} : { spent }), ...said(unit), ...network };
    const begun = before?.(unit, task) ?? task;
    if ("output" in recorded) {
      const completed = { ...span, result: { output: unit.seal(recorded.output) }, ...more };
      return unit.emit(tellToolEnding(unit, begun, completed), "span.completed", completed);
    }
    const { error, stack } = recorded;
    const where = stack === undefined ? {} : { stack: unit.seal(stack) };
    const failed = { ...span, result: { error }, ...where, ...more };
    return unit.emit(tellToolEnding(unit, begun, failed), "span.failed", failed);
  });
}

/** The recorded result of a step, or the recorded error, thrown again. */
export async function outputOf(run: Run, { ended }: { ended: KernelEvent | null }): Promise<JsonValue> {
  if (ended?.event !== "span.completed" && ended?.event !== "span.failed") return null;
  const { result } = ended.payload;
  if ("error" in result) throw new AgentFailure(result.error.code, result.error.message);
  return await unseal(result.output, run.own);
}
