/** Rollout of a persona's new version: for a share of the sessions, always the same ones, while the others keep the version before. */

import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../store/port.ts";
import { sha256Hex } from "../core/content.ts";
import { HarnessError } from "../core/errors.ts";
import type { PersonaBaseline, PersonaChanges, PersonaRecord } from "../kinds/persona.ts";

interface Rollout {
  strategy: "percent";
  percent: number;
  baseline_version: string;
}

/** Null for an empty policy: the newest version is everybody's. */
export function readRollout(policy: JsonObject | undefined): Rollout | null {
  if (policy === undefined || Object.keys(policy).length === 0) return null;
  const { strategy, percent, baseline_version, ...others } = policy;
  const isPercent = typeof percent === "number" && percent >= 0 && percent <= 100;
  if (
    strategy !== "percent" ||
    !isPercent ||
    typeof baseline_version !== "string" ||
    Object.keys(others).length > 0
  )
    throw refused(
      'rollout_policy is {"strategy": "percent", "percent": 0 to 100, "baseline_version": "…"}, or empty.',
    );
  return { strategy, percent, baseline_version };
}

/** What a change makes of the baseline: the version that it replaces, or the one that is there; none without a rollout. */
export function baselineAfter(persona: PersonaRecord, changes: PersonaChanges): PersonaBaseline | null {
  const rollout = readRollout(changes.rollout_policy ?? persona.rollout_policy);
  if (rollout === null) return null;
  if (persona.baseline?.version === rollout.baseline_version) return persona.baseline;
  if (persona.version === rollout.baseline_version) return baselineOf(persona);
  throw refused(
    `Version ${rollout.baseline_version} cannot be the baseline: it is ${persona.version} that this change replaces.`,
  );
}

function baselineOf({
  version,
  entry_workflow,
  autonomy_tier,
  receipt_policy,
  ...persona
}: PersonaRecord): PersonaBaseline {
  const { approval_policy, tools, capabilities, handoffs, model_policy, context_packs, lists } = persona;
  return JSON.parse(
    JSON.stringify({
      ...{ version, entry_workflow, autonomy_tier, receipt_policy },
      ...{ approval_policy, tools, capabilities, handoffs, model_policy, context_packs, lists },
    }),
  );
}

/** Only members that have changed are in an event. */
export function baselineChange(
  persona: PersonaRecord,
  changes: PersonaChanges,
): Pick<PersonaChanges, "baseline"> {
  const baseline = baselineAfter(persona, changes);
  return isDeepStrictEqual(baseline, persona.baseline ?? null) ? {} : { baseline };
}

/** The persona as it is for a session. */
export function personaFor(persona: PersonaRecord, sessionId: string): PersonaRecord {
  const { baseline, rollout_policy } = persona;
  if (baseline == null) return persona;
  const rollout = readRollout(rollout_policy);
  if (rollout === null || bucketOf(persona.id, sessionId) < rollout.percent) return persona;
  const { approval_policy, tools, capabilities, handoffs, model_policy, context_packs, lists, ...rest } =
    persona;
  return { ...rest, ...baseline };
}

/** From 0 to 99.99, the same for a persona and a session whenever it is asked. */
function bucketOf(personaId: string, sessionId: string): number {
  return (Number.parseInt(sha256Hex(`${personaId} ${sessionId}`).slice(0, 8), 16) % 10_000) / 100;
}

export function refused(message: string): HarnessError {
  return new HarnessError("policy_violation", message, {
    param: "rollout_policy",
    details: { rule: "not_enforced" },
  });
}
