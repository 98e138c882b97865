/**
 * Change a persona. Every change is a new version; tasks keep the one they were submitted under. Where approvers have to
 * agree, the change waits for them, and replaces another one that waits.
 */

import { isDeepStrictEqual } from "node:util";
import { type Consent, consentToPersona } from "../approvals/consent.ts";
import { requestChange, settleChange } from "../approvals/policy-changes.ts";
import { findRegistry } from "../approvals/registry.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { PersonaChanges, PersonaRecord } from "../kinds/persona.ts";
import { nameSchedules } from "../schedules/schedules.ts";
import { refuseBoundKeys, requireReferences } from "./create-persona.ts";
import { applyPersonaChanges, isTaken } from "./personas.ts";
import { baselineAfter } from "./rollout.ts";

const stopping: ReadonlySet<string> = new Set(["disabled", "autonomy_tier", "approval_policy"]);

export const updatePersona: Command<{ personaId: string; changes: PersonaChanges }, PersonaRecord> = {
  name: "update_persona",
  scope: "personas:write",
  audit: ({ changes }, persona) =>
    audited("persona.update", persona, {
      version: persona.version,
      changed: Object.keys(changes),
      is_pending: persona.pending_change !== undefined,
    }),
  // What stops work is small, and needed most when the disk is full.
  isAllowedWithoutRoom: ({ changes }) => Object.keys(changes).every((name) => stopping.has(name)),
  decide(unit, { personaId, changes: given }) {
    refuseBoundKeys(unit);
    const persona = unit.require("persona", personaId);
    requireReferences(unit, given);
    baselineAfter(persona, given);
    const changes =
      given.schedules === undefined
        ? given
        : { ...given, schedules: nameSchedules(unit, given.schedules, persona.schedules ?? []) };
    if (isDeepStrictEqual({ ...persona, ...changes }, persona)) return persona;
    if (changes.version !== undefined && isTaken(persona, changes.version)) {
      throw new HarnessError(
        "invalid_request",
        `Version ${changes.version} of this persona is taken; leave version out to count it up.`,
        { param: "version" },
      );
    }
    const keys = findRegistry(unit)?.keys ?? [];
    const consent = consentToPersona(unit, keys, persona, changes);
    if (consent === null) return applyPersonaChanges(unit, persona, changes);
    return askFor(unit, persona, changes, consent);
  },
};

/** Take back a change that waits for approvers. */
export const withdrawPersonaChange: Command<{ personaId: string }, PersonaRecord> = {
  name: "withdraw_persona_change",
  scope: "personas:write",
  audit: (_, persona) => audited("persona.update", persona, { version: persona.version, is_withdrawn: true }),
  decide(unit, { personaId }) {
    refuseBoundKeys(unit);
    const persona = unit.require("persona", personaId);
    if (persona.pending_change === undefined) throw notFound("pending change of persona", personaId);
    return withdraw(unit, persona, "It was withdrawn.");
  },
};

function askFor(
  unit: Unit,
  persona: PersonaRecord,
  changes: PersonaChanges,
  consent: Consent,
): PersonaRecord {
  const { pending_change: pending } = persona;
  if (isDeepStrictEqual(pending?.changes, changes)) return persona;
  const free = pending === undefined ? persona : withdraw(unit, persona, "Another one took its place.");
  const change = { kind: "persona", persona_id: persona.id, changes } as const;
  const { id, requested_by, created_at, effective_at, expires_at } = requestChange(unit, change, consent, {
    action: `Change persona ${persona.name} (${persona.id})`,
    details: { from: before(persona, changes), to: changes },
  });
  return unit.emit(free, "vendor.bridle.persona.change_requested", {
    pending_change: { id, changes, requested_by, requested_at: created_at, effective_at, expires_at },
  });
}

function before(persona: PersonaRecord, changes: PersonaChanges): Partial<PersonaRecord> {
  const names = Object.keys(changes);
  return Object.fromEntries(Object.entries(persona).filter(([name]) => names.includes(name)));
}

function withdraw(unit: Unit, persona: PersonaRecord, reason: string): PersonaRecord {
  const pending = unit.require("policy_change", persona.pending_change?.id ?? "");
  settleChange(unit, pending, { decision: "withdrawn", reason, decided_by: unit.caller.actor });
  return unit.require("persona", persona.id);
}
