/** The life of a step: taken from the journal, or run once within what the task may use, and recorded with its result. */

import { timestamp } from "../../kernel/core/clock.ts";
import { unseal } from "../../kernel/core/content.ts";
import { HarnessError } from "../../kernel/core/errors.ts";
import type { EventPayloads, KernelEvent, StepSpan } from "../../kernel/core/events.ts";
import type { Unit } from "../../kernel/core/unit.ts";
import type { Amounts } from "../../kernel/kinds/quota.ts";
import type { StepResult } from "../../kernel/kinds/task.ts";
import { settle } from "../../kernel/quotas/ledger.ts";
import type { JsonValue } from "../../store/port.ts";
import { withinBudget } from "./budget.ts";
import { networkUses } from "./egress.ts";
import { AgentFailure } from "./failures.ts";
import type { Permit } from "./permits.ts";
import type { Change } from "./record-run.ts";
import type { Attempted, Run } from "./run.ts";
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
}

export async function performStep(
  run: Run,
  span: StepSpan,
  attempt: () => Promise<Attempted>,
  { permit, declaredModel, toolCall, ...cost }: StepTerms = {},
): Promise<JsonValue> {
  const { amounts = {} } = cost;
  await withinBudget(run, span.step, amounts);
  const recorded = await run.recall(span.step);
  if (recorded !== undefined && (permit === undefined || recorded.ended !== null)) {
    return await outputOf(run, recorded);
  }
  if (permit !== undefined) await run.beforeUsing(span.step);
  const result = await run.perform(async () => {
    const started_at = timestamp(run.kernel.clock.now());
    const refusal = (await permit?.use(span)) ?? null;
    // What the agent sees now must be what it will see when the step comes from the journal.
    const made = refusal === null ? await attempt() : { error: refusal };
    const attempted = await run.redact((redactor) => redactor.value(made));
    const before = toolCall === undefined ? {} : { before: announceTool(toolCall) };
    await noteResult(run, span, attempted, { ...cost, amounts, ...before }, (unit) => ({
      started_at,
      ...(declaredModel === undefined ? {} : { declared_model: declaredModel }),
      ...(toolCall === undefined ? {} : { tool_call: toolCallOf(unit, toolCall) }),
    }));
    return attempted;
  }, span);
  if ("error" in result) throw new AgentFailure(result.error.code, result.error.message);
  return result.output;
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
    return { output: output === undefined ? null : JSON.parse(JSON.stringify(output)) };
  } catch (error) {
    return failedStep(error);
  }
}

/** What code of the agent threw. */
export function failedStep(error: unknown): Extract<Attempted, { error: unknown }> {
  const code = error instanceof AgentFailure ? error.code : "step_failed";
  const message = error instanceof Error ? error.message : String(error);
  return { error: { code, message } };
}

type Said = Pick<
  EventPayloads["span.completed"],
  "from_vault" | "model_call" | "started_at" | "tool_call" | "declared_model"
>;

export async function noteResult(
  run: Run,
  span: StepSpan,
  attempted: Attempted,
  { amounts, spent, before }: StepCost = {},
  /** What else the record says of the step. */
  said: (unit: Unit) => Said = () => ({}),
): Promise<void> {
  const network = networkUses();
  await run.note((unit, task) => {
    if (amounts !== undefined) settle(unit, task, span.step, amounts);
    const result: StepResult = "error" in attempted ? attempted : { output: unit.seal(attempted.output) };
    const record = { ...span, result, ...(spent === undefined ? {} : { spent }), ...said(unit), ...network };
    const told = tellToolEnding(unit, before?.(unit, task) ?? task, record);
    return unit.emit(told, "error" in result ? "span.failed" : "span.completed", record);
  });
}

/** The recorded result of a step, or the recorded error, thrown again. */
export async function outputOf(run: Run, { ended }: { ended: KernelEvent | null }): Promise<JsonValue> {
  if (ended?.event !== "span.completed" && ended?.event !== "span.failed") return null;
  const { result } = ended.payload;
  if ("error" in result) throw new AgentFailure(result.error.code, result.error.message);
  return await unseal(result.output, run.own);
}
