/**
 * Side effects under the persona's autonomy: `shadow` notes what would be done, `suggest` makes a proposal of it,
 * `act_with_approval` asks first, `act_auto` does it.
 */

import type { Simulated, StepSpan } from "../kernel/events.ts";
import type { JsonValue } from "../store/port.ts";
import type { ApprovalRequest, EffectOutcome } from "./agent.ts";
import { writeArtifact } from "./artifacts.ts";
import { approve } from "./questions.ts";
import { oneCall, outputOf, performStep } from "./recorded-steps.ts";
import type { Attempted, Run } from "./run.ts";

export interface Effect {
  /** What is to be done with what, as it is shown to whoever approves it. */
  intent: JsonValue;
  risk?: NonNullable<ApprovalRequest["risk"]>;
  expiresInMs?: number;
  /** What the agent is given when nothing is done. */
  simulate: JsonValue;
}

export function performEffect(
  run: Run,
  span: StepSpan,
  effect: Effect,
  attempt: () => Promise<Attempted>,
): Promise<EffectOutcome<JsonValue>> {
  return underAutonomy(run, span, effect, () => performStep(run, span, attempt, { amounts: oneCall }));
}

/** The same for what is done in another way than by running code here. */
export async function underAutonomy(
  run: Run,
  span: StepSpan,
  { intent, simulate, ...terms }: Effect,
  act: () => Promise<JsonValue>,
): Promise<EffectOutcome<JsonValue>> {
  const tier = run.task.policy.autonomy_tier;
  switch (tier) {
    case "shadow": {
      const output = await noteSimulated(run, span, { tier, intent, artifactId: null }, simulate);
      return { outcome: "simulated", output, artifactId: null };
    }
    case "suggest": {
      const artifactId = await propose(run, span, intent);
      const output = await noteSimulated(run, span, { tier, intent, artifactId }, simulate);
      return { outcome: "proposed", output, artifactId };
    }
    case "act_with_approval": {
      await approve(run, { action: span.name, payload: intent, ...terms });
      break;
    }
    case "act_auto":
      break;
  }
  return { outcome: "done", output: await act(), artifactId: null };
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

async function noteSimulated(
  run: Run,
  span: StepSpan,
  { tier, intent, artifactId }: { tier: Simulated["tier"]; intent: JsonValue; artifactId: string | null },
  simulate: JsonValue,
): Promise<JsonValue> {
  const recorded = await run.recall(span.step);
  if (recorded !== undefined) return await outputOf(run, recorded);
  await run.note((unit, task) =>
    unit.emit(task, "span.completed", {
      ...span,
      result: { output: unit.seal(simulate) },
      simulated: { tier, intent: unit.seal(intent), artifact_id: artifactId },
    }),
  );
  return simulate;
}
