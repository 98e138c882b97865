/** What the persona's autonomy makes of a tool that changes something. */

import type { JsonValue } from "../../store/port.ts";
import type { RetryPolicy } from "../../tools/retry.ts";
import type { Risk, ToolEffect } from "../../tools/tool.ts";
import { actUnderTier, type EffectSpan } from "../context/effects.ts";
import type { Attempted } from "../run/recording.ts";
import type { Run } from "../run/run.ts";
import { performTool } from "./tool-step.ts";

/** What somebody wants of a tool. */
export interface ToolRequested {
  input: JsonValue;
  /** What the model that asks for it names the call by; none when it is the agent's own code. */
  callId: string | undefined;
}

export interface ToolAct extends ToolRequested {
  span: EffectSpan;
  effect: ToolEffect;
  risk: Risk;
  /** With the input that was asked for, or that was approved in its place. */
  attempt: (input: JsonValue, attempt: number) => Promise<Attempted>;
  retry: RetryPolicy;
  /** What whoever approves it is told in a few words. */
  action?: string | undefined;
  /** What is given when nothing is done; null when there is nothing to give. */
  simulate: (() => JsonValue) | null;
  recallWithin?: () => Promise<void>;
}

/** What a tool gave, or why nothing was done. */
export interface Acted {
  output: JsonValue;
  withheld: string | null;
}

export async function actAs(run: Run, { risk, simulate, action, attempt, ...call }: ToolAct): Promise<Acted> {
  const { span, effect, input } = call;
  const stepWith = (given: JsonValue) => ({
    ...call,
    input: given,
    attempt: (number: number) => attempt(given, number),
  });
  if (effect === "none") return { output: await performTool(run, stepWith(input)), withheld: null };
  const request = { span, effect, input, callId: call.callId };
  const terms = {
    intent: input,
    simulate: simulate?.() ?? null,
    risk,
    action: action ?? span.name,
    toolCall: request,
  };
  const { outcome, output, artifactId } = await actUnderTier(run, span, terms, (permit) =>
    performTool(run, stepWith(permit?.modifiedInput ?? input), permit),
  );
  if (outcome === "done" || simulate !== null) return { output, withheld: null };
  const tier = run.task.policy.autonomy_tier;
  const noted = artifactId === null ? "It was noted." : `It was proposed to people in ${artifactId}.`;
  return {
    output,
    withheld: `${span.name} was not carried out: the persona's autonomy is ${tier}. ${noted}`,
  };
}
