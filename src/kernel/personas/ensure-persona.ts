/** Make sure that a persona is there and says what its operator's configuration says. Runs at start. */

import type { JsonObject } from "../../store/port.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import type { PersonaFields, PersonaRecord } from "../kinds/persona.ts";
import { namedPersona } from "../openharness/sops.ts";
import { createPersona } from "./create-persona.ts";
import { updatePersona } from "./update-persona.ts";

export type EnsurePersona = Omit<PersonaFields, "version"> & {
  /** What it begins with, and is set to when it is new; changes count it up otherwise. */
  version?: string;
  metadata?: JsonObject;
};

export const ensurePersona: Command<EnsurePersona, PersonaRecord> = {
  name: "ensure_persona",
  scope: "personas:write",
  audit: (changes, persona) =>
    audited("persona.update", persona, { version: persona.version, changed: Object.keys(changes) }),
  isAllowedWithoutRoom: true,
  /** The one of this name is changed, if it is different; what is not said stays as it is. */
  decide(unit, { version, ...changes }) {
    const known = namedPersona(unit, changes.name);
    if (known === undefined) return createPersona.decide(unit, { version: version ?? "1", ...changes });
    const isNew = version !== undefined && ![known.version, ...(known.past_versions ?? [])].includes(version);
    return updatePersona.decide(unit, {
      personaId: known.id,
      changes: isNew ? { ...changes, version } : changes,
    });
  },
};
