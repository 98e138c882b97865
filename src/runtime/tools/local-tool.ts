/** Calls of local tools: the step `tool:<name>:<n>`, within what the persona lets happen. */

import { getRecord } from "../../kernel/core/read.ts";
import { placeOf } from "../../kernel/workspaces/files.ts";
import type { JsonValue } from "../../store/port.ts";
import {
  checkToolInput,
  type LateResult,
  runTool,
  ToolTimeout,
  ToolValueInvalid,
} from "../../tools/attempt.ts";
import { riskOf, type ToolContext, type ToolDefinition, type ToolTerms } from "../../tools/tool.ts";
import type { AgentContext } from "../agents/agent.ts";
import type { EffectSpan } from "../context/effects.ts";
import { secretForTool } from "../context/secrets.ts";
import { AgentFailure } from "../run/failures.ts";
import { allowed, attemptStep, performStep } from "../run/recorded-steps.ts";
import { type Attempted, never, type Run } from "../run/run.ts";
import type { ToolCallRequest } from "../run/tool-events.ts";
import { type Acted, actAs, type ToolRequested } from "./act.ts";
import { assertMayUse } from "./may-use.ts";
import { noteLate } from "./tool-step.ts";
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
  await assertInput(run, tool, toolCall);
  // Each call that such a tool makes on `ctx` is a step, allowed and approved for itself.
  if ("runWith" in tool) return { output: asJson(await tool.runWith(ctx, input as never)), withheld: null };
  const attempt = () => attemptTool(run, span, tool, input);
  const simulate = tool.simulate === undefined ? null : () => asJson(tool.simulate?.(input as never));
  return await actAs(run, {
    span,
    effect: tool.effect,
    risk: riskOf(tool),
    input,
    callId,
    attempt,
    simulate,
    action: tool.action?.(input as never),
  });
}

/** What cannot be right is not put to anybody for approval. */
async function assertInput(run: Run, tool: ToolTerms, toolCall: ToolCallRequest): Promise<void> {
  try {
    checkToolInput(tool, toolCall.input);
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
): Promise<Attempted> {
  const onLate = (late: LateResult) => void lateResult(late).then((result) => noteLate(run, span, result));
  try {
    const output = await runTool(tool, input, contextOf(run, span), { onLate });
    return await attemptStep(() => output);
  } catch (error) {
    // The run is over; what its tool comes to is told by `onLate`.
    if (run.signal.aborted) return await never();
    return failedWith(error);
  }
}

function failedWith(error: unknown): Attempted {
  const isNamed =
    error instanceof ToolTimeout || error instanceof ToolValueInvalid || error instanceof AgentFailure;
  const message = error instanceof Error ? error.message : String(error);
  return { error: { code: isNamed ? error.code : "tool_failed", message } };
}

async function lateResult(late: LateResult): Promise<Attempted> {
  return "error" in late ? failedWith(late.error) : await attemptStep(() => late.output);
}

function asJson(value: unknown): JsonValue {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}

function contextOf(run: Run, { step }: EffectSpan): ToolContext {
  const { kernel, caller, task, signal } = run;
  return {
    signal,
    idempotencyKey: `${task.id}:${step}`,
    traceHeaders: { ...run.traceOf(step) },
    taskId: run.actsAs,
    workspaceId: task.workspace_id,
    outbound: kernel.outbound,
    files: kernel.files,
    place: async () => placeOf(await getRecord(kernel, caller, "workspace", task.workspace_id)),
    secret: (name) => secretForTool(run, name),
  };
}
