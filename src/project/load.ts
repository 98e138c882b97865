/** A project as it is on disk: its configuration and its agents. */

import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { builtInAgents } from "../agents/index.ts";
import type { McpServerSettings } from "../mcp-client/mcp.ts";
import type { ModelSettings } from "../models/settings.ts";
import type { AgentContext } from "../runtime/agents/agent.ts";
import type { AnyTool } from "../tools/tool.ts";
import {
  agentFiles,
  asDefined,
  defaultAgentFiles,
  isAgent,
  type LoadedAgent,
  loadAgentFile,
} from "./agent-files.ts";
import { ConfigProblem, checkConfig } from "./check-config.ts";
import type { BridleConfig, ConfigSettings, PersonaSettings } from "./config.ts";
import { loadContextPacks } from "./context-packs.ts";
import { LoadProblem, loadProblem, shown } from "./load-problem.ts";
import type { ProjectModules } from "./modules.ts";
import { suggestion } from "./suggestion.ts";

const configFiles = ["ts", "mts", "js", "mjs"].map((ending) => `bridle.config.${ending}`);

export interface ProjectPlace {
  /** Where the command was called: the configuration is looked for here, and `--agents` are relative to it. */
  directory: string;
  /** The configuration, if it is somewhere else. */
  config?: string | undefined;
  /** Modules with agents, beside those of the configuration. */
  agents: readonly string[];
  /** The settings of the server that a configuration may have. */
  settingNames: readonly string[];
}

export interface Project {
  /** The configuration file; null where there is none. */
  file: string | null;
  /** Every agent in every version, the built-in ones apart. */
  agents: LoadedAgent[];
  /** What the configuration says of the server's settings, as it is written there. */
  settings: ConfigSettings;
  models: ModelSettings;
  mcpServers: Record<string, McpServerSettings>;
  tools: AnyTool<AgentContext>[];
  personas: PersonaSettings[];
  /** Texts in `context/`, by their names. */
  contextPacks: Map<string, string>;
  /** Where agents are looked for. */
  sources: AgentSource[];
}

/** Paths and patterns, and what they are relative to. */
export interface AgentSource {
  patterns: readonly string[];
  directory: string;
}

export async function loadProject(place: ProjectPlace, modules: ProjectModules): Promise<Project> {
  const file = findConfig(place);
  const config = file === null ? {} : await loadConfig(file, place, modules);
  const { agents: given, models = {}, mcpServers = {}, tools = [], personas = [], ...settings } = config;
  const listed = given ?? (file === null ? [] : [defaultAgentFiles]);
  const patterns = listed.filter((item) => typeof item === "string");
  const home = file === null ? place.directory : dirname(file);
  const sources = [
    { patterns, directory: home },
    { patterns: place.agents, directory: place.directory },
  ];
  const inConfig = listed.flatMap((item, index) =>
    typeof item === "string" ? [] : [asAgent(item, index, file ?? "")],
  );
  const onDisk = await loadAll(await filesOf(sources), modules);
  const agents = unique([...inConfig, ...onDisk]);
  return {
    file,
    agents,
    settings,
    models,
    mcpServers,
    tools,
    personas,
    contextPacks: file === null ? new Map() : await loadContextPacks(home),
    sources,
  };
}

/** What the configuration says of the server's settings, without loading agents; null where there is none. */
export async function loadSettings(
  place: ProjectPlace,
  modules: ProjectModules,
): Promise<{ file: string; settings: ConfigSettings } | null> {
  const file = findConfig(place);
  if (file === null) return null;
  const { agents, models, mcpServers, tools, personas, ...settings } = await loadConfig(file, place, modules);
  return { file, settings };
}

export function findConfig({ directory, config }: ProjectPlace): string | null {
  const found =
    config === undefined ? configFiles.filter((name) => existsSync(resolve(directory, name))) : [config];
  const [first, second] = found;
  if (first === undefined) return null;
  if (second !== undefined) {
    throw new LoadProblem(`There are ${first} and ${second}: keep one, or say which with --config.`);
  }
  const file = resolve(directory, first);
  if (!existsSync(file)) throw new LoadProblem(`${shown(file)}: there is no such file.`);
  return file;
}

async function loadConfig(
  file: string,
  { settingNames }: ProjectPlace,
  modules: ProjectModules,
): Promise<BridleConfig> {
  try {
    const { default: found } = await modules.import(file);
    return checkConfig(shown(file), found, settingNames);
  } catch (error) {
    throw loadProblem(error, file, modules);
  }
}

/** The files that hold agents now. */
export async function filesOf(sources: readonly AgentSource[]): Promise<string[]> {
  const lists = await Promise.all(sources.map(({ patterns, directory }) => agentFiles(patterns, directory)));
  return [...new Set(lists.flat())];
}

/** All are tried before one is complained about, so that it is known what all of them import. */
async function loadAll(files: readonly string[], modules: ProjectModules): Promise<LoadedAgent[]> {
  const tried = await Promise.allSettled(files.map((file) => loadAgentFile(file, modules)));
  return tried.flatMap((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}

function asAgent(item: unknown, index: number, file: string): LoadedAgent {
  const place = `agents[${index}]`;
  if (!isAgent(item)) {
    throw new ConfigProblem(
      shown(file),
      `${place} must be what defineAgent gives, or where modules with agents are.`,
    );
  }
  try {
    return { agent: asDefined(item), file };
  } catch (error) {
    throw new ConfigProblem(
      shown(file),
      `${place}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** An agent that is reached in two ways is one; two that call themselves the same are a mistake. */
function unique(loaded: readonly LoadedAgent[]): LoadedAgent[] {
  const known = new Map<string, LoadedAgent>();
  for (const one of loaded) {
    const name = `${one.agent.name}@${one.agent.version}`;
    const other = known.get(name);
    if (other === undefined) known.set(name, one);
    else if (other.agent !== one.agent) {
      const places = [...new Set([shown(other.file), shown(one.file)])].join(" and ");
      throw new LoadProblem(`${places}: ${name} is there twice. Give one of them another version.`);
    }
  }
  return [...known.values()];
}

/** A persona whose agent is not there would refuse every task. Throws `ConfigProblem`. */
export function assertPersonas({ personas, agents, file }: Project): void {
  const names = [...builtInAgents, ...agents.map(({ agent }) => agent)].map(({ name }) => name);
  for (const [index, { entry_workflow: name }] of personas.entries()) {
    if (names.includes(name)) continue;
    const problem = `personas[${index}].entry_workflow: no agent is called ${name}.${suggestion(name, names)}`;
    throw new ConfigProblem(shown(file ?? ""), problem);
  }
}
