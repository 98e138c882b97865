/** Agents from modules on disk: whatever they export that is an agent. */

import { existsSync } from "node:fs";
import { glob } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { type Agent, defineAgent } from "../runtime/agents/agent.ts";
import { LoadProblem, loadProblem, shown } from "./load-problem.ts";
import type { ProjectModules } from "./modules.ts";

export const defaultAgentFiles = "agents/*.{ts,mts,js,mjs}";

export interface LoadedAgent {
  agent: Agent;
  /** Where it comes from. */
  file: string;
}

/** The files that paths and patterns name, in an order that does not depend on the disk. */
export async function agentFiles(patterns: readonly string[], directory: string): Promise<string[]> {
  const files: string[] = [];
  for (const pattern of patterns) files.push(...(await matching(pattern, directory)));
  return [...new Set(files)];
}

async function matching(pattern: string, directory: string): Promise<string[]> {
  const plain = resolve(directory, pattern);
  if (!/[*?[{]/.test(pattern) || existsSync(plain)) return [plain];
  const found: string[] = [];
  for await (const file of glob(pattern, { cwd: directory })) found.push(resolve(directory, file));
  return found.filter(isAgentFile).sort(byNameAndVersion);
}

function isAgentFile(file: string): boolean {
  return !/\.d\.[cm]?ts$|\.(test|spec)\.[cm]?[jt]s$/.test(file) && !file.includes("/node_modules/");
}

/** The directories in which a new file would be found. */
export function agentDirectories(patterns: readonly string[], directory: string): string[] {
  return patterns.map((pattern) => resolve(directory, dirname(pattern.replace(/[^/]*[*?[{].*$/, "x"))));
}

const words = new Intl.Collator("en", { numeric: true });

/** `deployer@1.ts`, `deployer@2.ts`, `deployer.ts`: the one without a version in its name is the newest. */
function byNameAndVersion(one: string, other: string): number {
  const [name, version] = nameAndVersion(one);
  const [otherName, otherVersion] = nameAndVersion(other);
  if (name !== otherName) return words.compare(name, otherName) || (name < otherName ? -1 : 1);
  if (version === null || otherVersion === null)
    return version === otherVersion ? 0 : version === null ? 1 : -1;
  return words.compare(version, otherVersion);
}

function nameAndVersion(file: string): [name: string, version: string | null] {
  const [name = "", ...version] = basename(file)
    .replace(/\.[cm]?[jt]s$/, "")
    .split("@");
  return [resolve(dirname(file), name), version.length === 0 ? null : version.join("@")];
}

export async function loadAgentFile(file: string, modules: ProjectModules): Promise<LoadedAgent[]> {
  if (!existsSync(file)) throw new LoadProblem(`${shown(file)}: there is no such file to load agents from.`);
  try {
    const exported = await modules.import(file);
    const agents = [...new Set(Object.values(exported).flat())].filter(isAgent).map(asDefined);
    if (agents.length > 0) return agents.map((agent) => ({ agent, file }));
  } catch (error) {
    throw loadProblem(error, file, modules);
  }
  throw new LoadProblem(
    `${shown(file)} exports no agent: export what defineAgent gives, by name or as default.`,
  );
}

export function isAgent(value: unknown): value is Agent {
  return (
    typeof value === "object" &&
    value !== null &&
    "name" in value &&
    typeof value.name === "string" &&
    "version" in value &&
    typeof value.version === "string" &&
    "run" in value &&
    typeof value.run === "function"
  );
}

/** Also those that were made without `defineAgent` are held to its rules. */
export function asDefined(agent: Agent): Agent {
  return defineAgent(agent);
}
