/** Agents from modules on disk: whatever they export that is an agent. */

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Agent, defineAgent } from "../runtime/agent.ts";
import { about } from "./output.ts";

export async function loadAgents(files: readonly string[]): Promise<Agent[]> {
  return (await Promise.all(files.map(loadModule))).flat();
}

function loadModule(file: string): Promise<Agent[]> {
  return about(file, () => agentsIn(file));
}

async function agentsIn(file: string): Promise<Agent[]> {
  const exported: Record<string, unknown> = await import(pathToFileURL(resolve(file)).href);
  const agents = [...new Set(Object.values(exported).flat())].filter(isAgent).map(defineAgent);
  if (agents.length > 0) return agents;
  throw new Error(`${file} exports no agent: export what defineAgent gives, by name or as default.`);
}

function isAgent(value: unknown): value is Agent {
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
