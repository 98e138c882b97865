/** Calls of local tools: the step `tool:<name>:<n>`, within what the persona lets happen. */

import { getRecord } from "../../kernel/core/read.ts";
import { placeOf } from "../../kernel/workspaces/files.ts";
import type { JsonValue } from "../../store/port.ts";
import { checkToolInput, runTool, ToolTimeout, ToolValueInvalid } from "../../tools/attempt.ts";
import { CircuitOpen } from "../../tools/circuit-breaker.ts";
import type { LateResult } from "../../tools/in-time.ts";
import { retriesDefault, retryPolicy } from "../../tools/retry.ts";
import { riskOf, type ToolContext, type ToolDefinition, type ToolTerms } from "../../tools/tool.ts";
import type { AgentContext } from "../agents/agent.ts";
import type { EffectSpan } from "../context/effects.ts";
import { secretForTool } from "../context/secrets.ts";
import { AgentFailure } from "../run/failures.ts";
import { noteLate } from "../run/late-result.ts";
import { never } from "../run/promises.ts";
import { allowed, attemptStep, performStep } from "../run/recorded-steps.ts";
import type { Attempted } from "../run/recording.ts";
import type { Run } from "../run/run.ts";
import { mayPass } from "../run/step-attempts.ts";
import type { ToolCallRequest } from "../run/tool-events.ts";
import { type Acted, actAs, type ToolRequested } from "./act.ts";
import { assertMayUse } from "./may-use.ts";
import type { UsableTool } from "./toolbox.ts";

export async function callLocalTool(
  run: Run,
  ctx: AgentContext,
  tool: UsableTool,
  { input, callId }: ToolRequested,
): Promise<Acted> {
  const name = run.redactor.text(tool.name);
  const span: EffectSpan = { step: run.key(`tool:${name}`), kind: "tool", name };
  const toolCall = { span, effect: "runWith" in tool ? ("none" as const) : tool.effect, input, callId };
  await allowed(run, span, () => assertMayUse(run, tool), { toolCall });
  const checked = await checkedInput(run, tool, toolCall);
  // Each call that such a tool makes on `ctx` is a step, allowed and approved for itself.
  if ("runWith" in tool) return { output: asJson(await tool.runWith(ctx, checked)), withheld: null };
  const attempt = (given: JsonValue, number: number) => attemptTool(run, span, tool, given, number);
  const retries = tool.effect === "none" ? retriesDefault : 0;
  const simulate = tool.simulate === undefined ? null : () => asJson(tool.simulate?.(checked));
  return await actAs(run, {
    span,
    effect: tool.effect,
    risk: riskOf(tool),
    input,
    callId,
    attempt,
    retry: retryPolicy(tool, { retries, retryIf: mayPass }),
    simulate,
    action: tool.action?.(checked),
  });
}

/** What cannot be right is not put to anybody for approval. */
async function checkedInput(run: Run, tool: ToolTerms, toolCall: ToolCallRequest): Promise<never> {
  try {
    return (await checkToolInput(tool, toolCall.input)) as never;
  } catch (error) {
    if (!(error instanceof ToolValueInvalid)) throw error;
    const { code, message } = error;
    const refused = async () => ({ error: { code, message } });
    await performStep(run, toolCall.span, refused, { toolCall }).catch(() => {});
    throw new AgentFailure(code, message);
  }
}

async function attemptTool(
  run: Run,
  span: EffectSpan,
  tool: ToolDefinition,
  input: JsonValue,
  number: number,
): Promise<Attempted> {
  const onLate = (late: LateResult) => void lateResult(late).then((result) => noteLate(run, span, result));
  try {
    const called = { tool: tool.name, tenantId: run.task.tenant_id, terms: tool.circuitBreaker };
    const output = await run.circuits.call(called, mayPass, () =>
      runTool(tool, input, contextOf(run, span, number), { onLate }),
    );
    return await attemptStep(() => output);
  } catch (error) {
    // The run is over; what its tool comes to is told by `onLate`.
    if (run.signal.aborted) return await never();
    return failedWith(error);
  }
}

function failedWith(thrown: unknown): Attempted {
  const isNamed =
    thrown instanceof ToolTimeout ||
    thrown instanceof ToolValueInvalid ||
    thrown instanceof CircuitOpen ||
    thrown instanceof AgentFailure;
  const code = isNamed ? thrown.code : "tool_failed";
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { error: { code, message }, thrown };
}

async function lateResult(late: LateResult): Promise<Attempted> {
  return "error" in late ? failedWith(late.error) : await attemptStep(() => late.output);
}

function asJson(value: unknown): JsonValue {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}

function contextOf(run: Run, { step }: EffectSpan, attempt: number): ToolContext {
  const { kernel, caller, task, signal } = run;
  return {
    signal,
    attempt,
    idempotencyKey: run.recording.idempotencyKey(step),
    traceHeaders: { ...run.traceOf(step) },
    taskId: run.recording.actsAs,
    workspaceId: task.workspace_id,
    outbound: kernel.outbound,
    files: kernel.files,
    place: async () => placeOf(await getRecord(kernel, caller, "workspace", task.workspace_id)),
    secret: (name) => secretForTool(run, name),
  };
}
