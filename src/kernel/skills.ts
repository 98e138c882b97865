/** Skills, wherever they come from: those that the loaded agents bring along, and those that were registered. */

import type { AgentDirectory, AgentSkill } from "./agents.ts";
import { notFound } from "./errors.ts";
import type { Unit } from "./unit.ts";

export interface LoadedSkill extends AgentSkill {
  agent: { name: string; version: string };
}

/** In order of their ids, `<agent>/<skill>`. */
export function loadedSkills(agents: AgentDirectory): LoadedSkill[] {
  return agents
    .list()
    .flatMap(({ name, version, skills }) =>
      skills.map((skill) => ({ ...skill, id: `${name}/${skill.id}`, agent: { name, version } })),
    )
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

export function findLoadedSkill(agents: AgentDirectory, id: string): LoadedSkill | undefined {
  return loadedSkills(agents).find((skill) => skill.id === id);
}

export async function requireSkill(unit: Unit, id: string): Promise<void> {
  if (findLoadedSkill(unit.deps.agents, id) !== undefined) return;
  if ((await unit.find("skill", id)) === undefined) throw notFound("skill", id);
}
