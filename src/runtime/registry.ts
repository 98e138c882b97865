/** The agents that are loaded, in all their versions. New tasks get the newest; a started task keeps its own. */

import type { AgentCardInfo, AgentDirectory, AgentInfo, AgentSkill, AgentTool } from "../kernel/agents.ts";
import { defaultTenantId } from "../kernel/commands/ensure-tenant.ts";
import type { JsonObject } from "../store/port.ts";
import type { Agent, AgentCard, Skill, Tool } from "./agent.ts";

export class AgentRegistry implements AgentDirectory {
  readonly #agents = new Map<string, Map<string, Agent>>();

  /** Of several versions of an agent, the last one listed is the one that new tasks get. */
  constructor(agents: readonly Agent[]) {
    for (const agent of agents) {
      const versions = this.#agents.get(agent.name) ?? new Map<string, Agent>();
      if (versions.has(agent.version)) {
        throw new Error(`Agent ${agent.name} is loaded twice in version ${agent.version}.`);
      }
      versions.set(agent.version, agent);
      this.#agents.set(agent.name, versions);
    }
  }

  newest(name: string): Agent | undefined {
    return [...(this.#agents.get(name)?.values() ?? [])].at(-1);
  }

  version(name: string, version: string): Agent | undefined {
    return this.#agents.get(name)?.get(version);
  }

  find(name: string): AgentInfo | undefined {
    const agent = this.newest(name);
    return agent && describe(agent);
  }

  has(name: string, version: string | null): boolean {
    return version === null ? this.#agents.has(name) : this.version(name, version) !== undefined;
  }

  list(): AgentInfo[] {
    return [...this.#agents.keys()].flatMap((name) => this.find(name) ?? []);
  }
}

function describe(agent: Agent): AgentInfo {
  return {
    name: agent.name,
    version: agent.version,
    description: agent.description ?? `The agent ${agent.name}.`,
    skills: (agent.skills ?? []).map(describeSkill),
    tools: (agent.tools ?? []).map(describeTool),
    card: describeCard(agent.card ?? {}),
  };
}

const usualModes = ["text/plain", "text/markdown", "application/json"];
/** From one address: enough to try an agent out, little enough to bear. */
const publicRequestsPerMinute = 60;

function describeCard(card: AgentCard): AgentCardInfo {
  const { inputModes = usualModes, outputModes = usualModes, extendedCard = "yes" } = card;
  const { streaming = true, pushNotifications = true, answersWithMessage = false } = card;
  const given = card.public === true ? {} : card.public;
  return {
    public: given
      ? {
          tenantId: given.tenantId ?? defaultTenantId,
          requestsPerMinute: given.requestsPerMinute ?? publicRequestsPerMinute,
        }
      : null,
    inputModes,
    outputModes,
    streaming,
    pushNotifications,
    extendedCard,
    extensions: (card.extensions ?? []).map(({ uri, description = "", required = false, params = null }) => ({
      uri,
      description,
      required,
      params,
    })),
    answersWithMessage,
  };
}

function describeSkill({ id, name, description, input, output }: Skill): AgentSkill {
  return {
    id,
    name: name ?? id,
    description,
    input_schema: asJsonSchema(input),
    output_schema: asJsonSchema(output),
  };
}

/** Without a schema anything goes, which is what the empty schema says. */
function describeTool({ name, description, input, output }: Tool): AgentTool {
  return {
    name,
    description,
    input_schema: asJsonSchema(input) ?? {},
    output_schema: asJsonSchema(output) ?? {},
  };
}

/** A TypeBox schema is JSON Schema; going through JSON drops what is not. */
export function asJsonSchema(schema: object | undefined): JsonObject | null {
  return schema === undefined ? null : JSON.parse(JSON.stringify(schema));
}
