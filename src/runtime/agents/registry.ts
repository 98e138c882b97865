/** The agents that are loaded, in all their versions. New tasks get the newest; a started task keeps its own. */

import type {
  AgentCardInfo,
  AgentDirectory,
  AgentInfo,
  AgentSkill,
  AgentTool,
} from "../../kernel/personas/agents.ts";
import { defaultTenantId } from "../../kernel/workspaces/ensure-tenant.ts";
import { jsonSchemaOf, type Schema } from "../../tools/schema.ts";
import type { Agent, AgentCard, Skill, Tool } from "./agent.ts";
import { compareVersions } from "./versions.ts";

interface Versions {
  newest: Agent;
  /** What is said of it; schemas take time to describe. */
  info: AgentInfo;
  all: Map<string, Agent>;
}

export class AgentRegistry implements AgentDirectory {
  #agents: ReadonlyMap<string, Versions>;
  #list: readonly AgentInfo[];
  readonly #listeners = new Set<() => void>();

  constructor(agents: readonly Agent[]) {
    this.#agents = byName(agents);
    this.#list = [...this.#agents.values()].map(({ info }) => info);
  }

  /** From here on these are the agents; if they cannot be, those before go on. Runs keep the code that they have. */
  replace(agents: readonly Agent[]): void {
    this.#agents = byName(agents);
    this.#list = [...this.#agents.values()].map(({ info }) => info);
    for (const listener of this.#listeners) listener();
  }

  onReplace(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  newest(name: string): Agent | undefined {
    return this.#agents.get(name)?.newest;
  }

  version(name: string, version: string): Agent | undefined {
    return this.#agents.get(name)?.all.get(version);
  }

  find(name: string): AgentInfo | undefined {
    return this.#agents.get(name)?.info;
  }

  has(name: string, version: string | null): boolean {
    return version === null ? this.#agents.has(name) : this.version(name, version) !== undefined;
  }

  versions(name: string): string[] {
    const { newest, all } = this.#agents.get(name) ?? {};
    const others = [...(all?.values() ?? [])].filter((agent) => agent !== newest);
    const newestFirst = others.toReversed().sort((a, b) => (isNewer(a, b) ? -1 : 1));
    return [...(newest === undefined ? [] : [newest]), ...newestFirst].map(({ version }) => version);
  }

  list(): readonly AgentInfo[] {
    return this.#list;
  }
}

function byName(agents: readonly Agent[]): ReadonlyMap<string, Versions> {
  const found = new Map<string, Omit<Versions, "info">>();
  for (const agent of agents) {
    const versions = found.get(agent.name) ?? { newest: agent, all: new Map<string, Agent>() };
    if (versions.all.has(agent.version)) {
      throw new Error(`Agent ${agent.name} is loaded twice in version ${agent.version}.`);
    }
    versions.all.set(agent.version, agent);
    if (isNewer(agent, versions.newest)) versions.newest = agent;
    found.set(agent.name, versions);
  }
  const described = [...found].map(
    ([name, versions]) => [name, { ...versions, info: describe(versions.newest) }] as const,
  );
  return new Map(described);
}

/** By semantic version, where both have one; otherwise what is listed later is newer. */
function isNewer(agent: Agent, than: Agent): boolean {
  return (compareVersions(agent.version, than.version) ?? 1) >= 0;
}

function describe(agent: Agent): AgentInfo {
  return {
    name: agent.name,
    version: agent.version,
    description: agent.description ?? `The agent ${agent.name}.`,
    input_schema: jsonSchemaOf(inputSchemaOf(agent)),
    skills: (agent.skills ?? []).map(describeSkill),
    tools: (agent.tools ?? []).map(describeTool),
    card: describeCard(agent.card ?? {}),
    signed_approvals: agent.signedApprovals === true,
  };
}

/** With more than one skill, it is not said for which of them a task is. */
export function inputSchemaOf({ input, skills = [] }: Agent): Schema | undefined {
  return input ?? (skills.length === 1 ? skills[0]?.input : undefined);
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
    provider: card.provider ?? null,
    documentationUrl: card.documentationUrl ?? null,
    iconUrl: card.iconUrl ?? null,
    answersWithMessage,
  };
}

function describeSkill({ id, name, description, input, output, ...told }: Skill): AgentSkill {
  const { tags = [], examples = [], inputModes = [], outputModes = [] } = told;
  return {
    id,
    name: name ?? id,
    description,
    input_schema: jsonSchemaOf(input),
    output_schema: jsonSchemaOf(output),
    tags: [...tags],
    examples: [...examples],
    input_modes: [...inputModes],
    output_modes: [...outputModes],
  };
}

/** Without a schema anything goes, which is what the empty schema says. */
function describeTool({ name, description, input, output }: Tool): AgentTool {
  return {
    name,
    description,
    input_schema: jsonSchemaOf(input) ?? {},
    output_schema: jsonSchemaOf(output) ?? {},
  };
}
