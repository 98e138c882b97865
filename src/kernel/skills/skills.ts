/** Skills, wherever they come from: those that the loaded agents bring along, and those that were registered. */

import { Errors } from "typebox/schema";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import { firstJsonObject, type MessageInput } from "../kinds/message.ts";
import type { SkillRecord } from "../kinds/skill.ts";
import type { AgentDirectory, AgentInfo, AgentSkill } from "../personas/agents.ts";

export interface LoadedSkill extends AgentSkill {
  agent: { name: string; version: string };
}

/** In order of their ids, `<agent>/<skill>`. */
export function loadedSkills(agents: readonly AgentInfo[]): LoadedSkill[] {
  return agents
    .flatMap(({ name, version, skills }) =>
      skills.map((skill) => ({ ...skill, id: `${name}/${skill.id}`, agent: { name, version } })),
    )
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

function findLoadedSkill(agents: AgentDirectory, id: string): LoadedSkill | undefined {
  return loadedSkills(agents.list()).find((skill) => skill.id === id);
}

export function requireSkill(unit: Unit, id: string): void {
  if (findLoadedSkill(unit.deps.agents, id) !== undefined) return;
  if (unit.find("skill", id) === undefined) throw notFound("skill", id);
}

/** One that can be changed: it was registered here. */
export function requireRegistered(unit: Unit, id: string): SkillRecord {
  const loaded = findLoadedSkill(unit.deps.agents, id);
  if (loaded === undefined) return unit.require("skill", id);
  throw new HarnessError(
    "conflict",
    `Skill ${id} comes with the agent ${loaded.agent.name} and changes with its code.`,
    {
      details: { skill_id: id, agent: loaded.agent.name },
    },
  );
}

/** A payload for a skill that is named in a task's metadata must be what the skill takes. */
export function assertFitsSkill(
  unit: Unit,
  agentName: string,
  skillId: JsonValue | undefined,
  input: { payload: JsonObject } | { message: MessageInput },
): void {
  if (typeof skillId !== "string") return;
  const param = "metadata.skill_id";
  const loaded = findLoadedSkill(unit.deps.agents, skillId);
  if (loaded === undefined) {
    if (unit.find("skill", skillId) !== undefined) return;
    throw new HarnessError("invalid_request", `${param} names no skill that is known here.`, { param });
  }
  if (loaded.agent.name !== agentName) {
    throw new HarnessError(
      "invalid_request",
      `Skill ${skillId} is one of the agent ${loaded.agent.name}; the task's persona runs ${agentName}.`,
      { param },
    );
  }
  if (loaded.input_schema === null || !("payload" in input)) return;
  const problem = problemWithInput(loaded.input_schema, input.payload);
  if (problem === null) return;
  throw new HarnessError(
    "invalid_request",
    `The input is not what skill ${skillId} takes: ${problem.message}`,
    {
      param: problem.param,
      details: { skill_id: skillId, input_schema: loaded.input_schema },
    },
  );
}

/** The input of a task must be what its agent takes, whichever skill is meant. */
export function assertFitsAgent(
  { name, input_schema }: AgentInfo,
  input: { payload: JsonObject } | { message: MessageInput },
): void {
  if (input_schema === null) return;
  const given = "payload" in input ? input.payload : firstJsonObject(input.message.parts);
  const problem = problemWithInput(input_schema, given);
  if (problem === null) return;
  throw new HarnessError(
    "invalid_request",
    `The input is not what the agent ${name} takes: ${problem.message}`,
    {
      param: problem.param,
      details: { agent: name, input_schema },
    },
  );
}

interface InputProblem {
  param: string;
  message: string;
}

function problemWithInput(schema: object, input: JsonObject): InputProblem | null {
  const [, [problem]] = Errors(schema, input);
  if (problem === undefined) return null;
  const param = `input${problem.instancePath.replaceAll("/", ".")}`;
  return { param, message: `${problem.message}.` };
}
