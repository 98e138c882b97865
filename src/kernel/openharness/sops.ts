/** Whose work a shell means: a persona by its id or its name, or an agent that is loaded. */

import { isVisible } from "../access/authorize.ts";
import { HarnessError } from "../core/errors.ts";
import { paginate } from "../core/paginate.ts";
import type { Unit } from "../core/unit.ts";
import type { PersonaRecord } from "../kinds/persona.ts";
import { personaOfAgent } from "../personas/agent-persona.ts";

export class UnknownSop extends HarnessError {
  constructor(param: string) {
    super("resource_not_found", "No persona and no agent of this name is known here.", { param });
  }
}

export function requireSop(unit: Unit, name: string, param: string): PersonaRecord {
  const isAgent = unit.deps.agents.find(name) !== undefined;
  const found =
    unit.find("persona", name) ?? (isAgent ? ofAgent(unit, name) : undefined) ?? namedPersona(unit, name);
  if (found === undefined) throw new UnknownSop(param);
  return found;
}

function ofAgent(unit: Unit, agent: string): PersonaRecord | undefined {
  const id = personaOfAgent(unit, agent);
  return id === null ? undefined : unit.find("persona", id);
}

/** The first that was called so. */
export function namedPersona(unit: Unit, name: string): PersonaRecord | undefined {
  const id = unit.awaited(`persona named ${name}`, () => idOfNamed(unit, name));
  return id === null ? undefined : unit.find("persona", id);
}

async function idOfNamed({ own, caller }: Unit, name: string): Promise<string | null> {
  for await (const page of paginate(own, { kind: "persona" })) {
    const personas = page.map(({ body }) => body as PersonaRecord);
    const found = personas.find((persona) => persona.name === name && isVisible(caller, persona));
    if (found !== undefined) return found.id;
  }
  return null;
}
