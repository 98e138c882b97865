/** Change a persona. Every change is a new version; tasks keep the one they were submitted under. */

import { isDeepStrictEqual } from "node:util";
import { audited } from "../audit/record.ts";
import type { Command } from "../dispatch.ts";
import { HarnessError } from "../errors.ts";
import { nextVersion, type PersonaChanges, type PersonaRecord } from "../resources/persona.ts";
import { nameSchedules, syncSchedules } from "../schedules.ts";
import { refuseBoundKeys, requireReferences } from "./create-persona.ts";

export const updatePersona: Command<{ personaId: string; changes: PersonaChanges }, PersonaRecord> = {
  name: "update_persona",
  scope: "personas:write",
  audit: ({ changes }, persona) =>
    audited("persona.update", persona, { version: persona.version, changed: Object.keys(changes) }),
  isAllowedWithoutRoom: true,
  async decide(unit, { personaId, changes: given }) {
    refuseBoundKeys(unit);
    const persona = await unit.require("persona", personaId);
    await requireReferences(unit, given);
    const before = persona.schedules ?? [];
    const changes =
      given.schedules === undefined
        ? given
        : { ...given, schedules: nameSchedules(unit, given.schedules, before) };
    if (isDeepStrictEqual({ ...persona, ...changes }, persona)) return persona;
    if (isTaken(persona, changes.version)) {
      throw new HarnessError(
        "invalid_request",
        `Version ${changes.version} of this persona is taken; leave version out to count it up.`,
        { param: "version" },
      );
    }
    const version = changes.version ?? nextVersion(persona);
    const updated = unit.emit(persona, "vendor.bridle.persona.updated", {
      changes: { ...changes, version },
    });
    await syncSchedules(unit, updated, before);
    return updated;
  },
};

function isTaken({ version, past_versions = [] }: PersonaRecord, wanted: string | undefined): boolean {
  return wanted !== undefined && [version, ...past_versions].includes(wanted);
}
