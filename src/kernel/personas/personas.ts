/** Applying a change to a persona: it becomes a new version, and its schedules follow. */

import type { Unit } from "../core/unit.ts";
import { nextVersion, type PersonaChanges, type PersonaRecord } from "../kinds/persona.ts";
import { callerAsSubmitter, type Submitter } from "../kinds/submitter.ts";
import { syncSchedules } from "../schedules/schedules.ts";
import { baselineChange } from "./rollout.ts";

/** A version that was taken meanwhile is counted up. */
export function applyPersonaChanges(
  unit: Unit,
  persona: PersonaRecord,
  { version: wanted, ...others }: PersonaChanges,
  by: Submitter = callerAsSubmitter(unit.caller),
): PersonaRecord {
  const before = persona.schedules ?? [];
  const version = wanted === undefined || isTaken(persona, wanted) ? nextVersion(persona) : wanted;
  const updated = unit.emit(persona, "vendor.bridle.persona.updated", {
    changes: { ...others, ...baselineChange(persona, others), version },
  });
  syncSchedules(unit, updated, before, by);
  return updated;
}

export function isTaken({ version, past_versions = [] }: PersonaRecord, wanted: string): boolean {
  return [version, ...past_versions].includes(wanted);
}
