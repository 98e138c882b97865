/**
 * Side effects under the persona's autonomy: `shadow` notes what would be done, `suggest` makes a proposal of it,
 * `act_with_approval` asks first, `act_auto` does it, or asks first where the risk is as high as the persona says.
 */

import type { ApprovalKind } from "../../kernel/approvals/artifact.ts";
import type { Simulated, StepSpan } from "../../kernel/core/events.ts";
import { asksBefore, riskDefault } from "../../kernel/kinds/persona.ts";
import type { JsonValue } from "../../store/port.ts";
import type { RetryPolicy } from "../../tools/retry.ts";
import type { ApprovalRequest, EffectOutcome } from "../agents/agent.ts";
import type { Permit } from "../run/permits.ts";
import { oneCall, outputOf, performStep } from "../run/recorded-steps.ts";
import type { Attempted } from "../run/recording.ts";
import type { Run } from "../run/run.ts";
import { noRetries } from "../run/step-attempts.ts";
import { announceTool, type ToolCallRequest, tellToolEnding, toolCallOf } from "../run/tool-events.ts";
import { writeArtifact } from "./artifacts.ts";
import { approve, askPermit } from "./questions.ts";

export interface Effect {
  /** What is to be done with what, as it is shown to whoever approves it. */
  intent: JsonValue;
  /** What whoever approves it is told in a few words; the name of the step unless said. */
  action?: string;
  risk?: NonNullable<ApprovalRequest["risk"]>;
  expiresInMs?: number;
  /** What the agent is given when nothing is done. */
  simulate: JsonValue;
  /** The tool call that it is, if it is one. */
  toolCall?: ToolCallRequest;
}

export type EffectSpan = StepSpan & { kind: ApprovalKind };

/** Runs code, under an approval where one is needed: the code is the one to use it. */
export function performEffect(
  run: Run,
  span: EffectSpan,
  effect: Effect,
  attempt: () => Promise<Attempted>,
  retry: RetryPolicy = noRetries,
): Promise<EffectOutcome<JsonValue>> {
  return actUnderTier(run, span, effect, (permit) =>
    performStep(run, span, attempt, { amounts: oneCall, permit, retry }),
  );
}

/** The same for what is recorded in a way of its own. */
export function actUnderTier(
  run: Run,
  span: EffectSpan,
  effect: Effect,
  act: (permit?: Permit) => Promise<JsonValue>,
): Promise<EffectOutcome<JsonValue>> {
  const announce = effect.toolCall === undefined ? {} : { announce: announceTool(effect.toolCall) };
  return underTier(run, span, effect, {
    ask: (request) => askPermit(run, request, { kind: span.kind, ...announce }),
    act,
  });
}

/** The same for what is done in another way than by running code here: asking for it is one record. */
export function underAutonomy(
  run: Run,
  span: EffectSpan,
  effect: Effect,
  act: () => Promise<JsonValue>,
): Promise<EffectOutcome<JsonValue>> {
  return underTier(run, span, effect, {
    ask: (request) => approve(run, request, { kind: span.kind }),
    act,
  });
}

interface Acting<P> {
  ask(request: ApprovalRequest): Promise<P>;
  act(permit?: P): Promise<JsonValue>;
}

async function underTier<P>(
  run: Run,
  span: EffectSpan,
  { intent, simulate, toolCall, ...terms }: Effect,
  { ask, act }: Acting<P>,
): Promise<EffectOutcome<JsonValue>> {
  const tier = run.task.policy.autonomy_tier;
  switch (tier) {
    case "shadow": {
      const output = await noteSimulated(run, span, { tier, intent, artifactId: null, toolCall }, simulate);
      return { outcome: "simulated", output, artifactId: null };
    }
    case "suggest": {
      const artifactId = await propose(run, span, intent);
      const output = await noteSimulated(run, span, { tier, intent, artifactId, toolCall }, simulate);
      return { outcome: "proposed", output, artifactId };
    }
    case "act_with_approval":
    case "act_auto": {
      const isAsked = asksBefore(terms.risk ?? riskDefault, run.task.policy);
      const permit = isAsked ? await ask({ action: span.name, ...terms, payload: intent }) : undefined;
      return { outcome: "done", output: await act(permit), artifactId: null };
    }
  }
}

/** A proposal is something a person can take up: what was to be done, and where in which task. */
function propose(run: Run, { step, kind, name }: StepSpan, intent: JsonValue): Promise<string> {
  return writeArtifact(run, {
    name: `proposal-${name}.json`,
    kind: "other",
    metadata: { proposal: true, step },
    json: { proposal: name, kind, step, intent },
  });
}

interface Intended {
  tier: Simulated["tier"];
  intent: JsonValue;
  artifactId: string | null;
  toolCall: ToolCallRequest | undefined;
}

async function noteSimulated(
  run: Run,
  span: StepSpan,
  { tier, intent, artifactId, toolCall }: Intended,
  simulate: JsonValue,
): Promise<JsonValue> {
  const recorded = await run.recording.recall(span.step);
  if (recorded !== undefined) return await outputOf(run, recorded);
  await run.recording.note((unit, task) => {
    const record = {
      ...span,
      result: { output: unit.seal(simulate) },
      simulated: { tier, intent: unit.seal(intent), artifact_id: artifactId },
      ...(toolCall === undefined ? {} : { tool_call: toolCallOf(unit, toolCall) }),
    };
    const announced = toolCall === undefined ? task : announceTool(toolCall)(unit, task);
    return unit.emit(tellToolEnding(unit, announced, record), "span.completed", record);
  });
  return simulate;
}
