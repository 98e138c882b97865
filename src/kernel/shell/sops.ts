/** Whose work a shell means: a persona by its id or its name, or an agent that is loaded. */

import { HarnessError } from "../errors.ts";
import { everyPage } from "../every-page.ts";
import { personaForAgent } from "../queries/agent-persona.ts";
import type { PersonaRecord } from "../resources/persona.ts";
import type { Unit } from "../unit.ts";

export class UnknownSop extends HarnessError {
  constructor(param: string) {
    super("resource_not_found", "No persona and no agent of this name is known here.", { param });
  }
}

export async function requireSop(unit: Unit, name: string, param: string): Promise<PersonaRecord> {
  const isAgent = unit.deps.agents.find(name) !== undefined;
  const found =
    (await unit.find("persona", name)) ??
    (isAgent ? await ofAgent(unit, name) : undefined) ??
    (await namedPersona(unit, name));
  if (found === undefined) throw new UnknownSop(param);
  return found;
}

async function ofAgent(unit: Unit, agent: string): Promise<PersonaRecord | undefined> {
  const id = await personaForAgent(unit.deps.store, unit.caller, agent);
  return id === null ? undefined : await unit.find("persona", id);
}

/** The first that was called so. */
export async function namedPersona(unit: Unit, name: string): Promise<PersonaRecord | undefined> {
  const personas = everyPage(unit.own, { kind: "persona" });
  for await (const page of personas) {
    for (const { id, body } of page) {
      const found = (body as PersonaRecord).name === name ? await unit.find("persona", id) : undefined;
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
