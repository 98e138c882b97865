/** The card for those who have proved who they are: with what their tenant has made of the agent, as far as they may see it. */

import type { AgentCardJson, AgentSkillJson } from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { listLive, listRecords } from "../../../kernel/core/read.ts";
import type { PersonaRecord } from "../../../kernel/kinds/persona.ts";
import type { SkillRecord } from "../../../kernel/kinds/skill.ts";
import type { AgentInfo } from "../../../kernel/personas/agents.ts";
import { agentsOf } from "../../../kernel/personas/reachable-agents.ts";
import { signCard } from "../../../policy/agent-card.ts";
import { mayUse } from "../../../policy/caller.ts";
import { keySetPath } from "../../addresses.ts";
import { addressed } from "../agent.ts";
import { requireName } from "../anonymous.ts";
import type { Call } from "../call.ts";
import { OpvsError } from "../errors.ts";
import { agentCard, said, skillsOf } from "./agent-card.ts";

/** A card is read whole: of more personas or skills than this, it has the newest. */
const listedMax = 200;

export async function extendedCard(call: Call): Promise<AgentCardJson> {
  const { kernel } = call;
  const agent = addressed(call);
  assertOffered(agent);
  requireName(call, "The extended card is");
  const card = agentCard(agent, call.agent, call);
  const others =
    call.agent === null ? agentsOf(kernel.agents, call.caller).filter(({ name }) => name !== agent.name) : [];
  const skills = [
    ...(card.skills ?? []),
    ...others.flatMap(skillsElsewhere),
    ...(await personasOf(call)).map(personaSkill),
    ...(await registeredSkills(call)).map(registeredSkill),
  ];
  return signCard({ ...card, skills }, kernel.issuer.key, call.publicUrl + keySetPath);
}

function assertOffered({ name, card }: AgentInfo): void {
  if (card.extendedCard === "no") {
    throw new OpvsError("UNSUPPORTED_OPERATION", `The agent ${name} has no extended card.`);
  }
  if (card.extendedCard === "unconfigured") {
    throw new OpvsError(
      "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
      `The extended card of the agent ${name} has not been set up.`,
    );
  }
}

/** Agents that have endpoints of their own, named so that no two skills of a card have one id. */
function skillsElsewhere(agent: AgentInfo): AgentSkillJson[] {
  return skillsOf(agent).map((skill) => ({ ...skill, id: `${agent.name}/${skill.id}` }));
}

/** Those that run this agent; at the front door, all. Who may not read personas is told of none. */
async function personasOf({ kernel, caller, agent }: Call): Promise<PersonaRecord[]> {
  if (!mayUse(caller, "personas:read")) return [];
  const { data } = await listRecords(kernel, caller, "persona", { limit: listedMax });
  return data.filter(({ entry_workflow }) => agent === null || entry_workflow === agent);
}

async function registeredSkills({ kernel, caller }: Call): Promise<SkillRecord[]> {
  if (!mayUse(caller, "skills:read")) return [];
  const { data } = await listLive(kernel, caller, "skill", { limit: listedMax });
  return data.filter(({ deprecated }) => !deprecated);
}

function personaSkill({
  id,
  name,
  description,
  entry_workflow,
  autonomy_tier,
}: PersonaRecord): AgentSkillJson {
  return {
    id,
    name: said(name, id),
    description: said(description, `The agent ${entry_workflow} in a role of its own.`),
    tags: ["persona", entry_workflow, autonomy_tier],
  };
}

function registeredSkill({ id, name, description, capabilities }: SkillRecord): AgentSkillJson {
  const tags = capabilities.filter((capability) => capability !== "");
  return {
    id,
    name: said(name, id),
    description: said(description, name),
    tags: ["skill", ...new Set(tags)],
  };
}
