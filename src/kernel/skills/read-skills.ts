/** Reading skills and tools: what was registered, newest first, and then what the loaded agents bring along, by name. */

import type { Caller } from "../../policy/caller.ts";
import { requireScope } from "../access/authorize.ts";
import { decodeCursor, encodeCursor } from "../core/cursor.ts";
import { notFound } from "../core/errors.ts";
import { getRecord, listLive, type Page, pageSizeDefault, type ReadDeps } from "../core/read.ts";
import type { SkillRecord } from "../kinds/skill.ts";
import type { AgentDirectory, AgentInfo, AgentTool } from "../personas/agents.ts";
import { agentsOf } from "../personas/reachable-agents.ts";
import { type LoadedSkill, loadedSkills } from "./skills.ts";

export interface SkillDeps extends ReadDeps {
  agents: AgentDirectory;
}

export type LoadedTool = AgentTool & { id: string };

export interface PageRequest {
  cursor?: string | undefined;
  limit?: number | undefined;
}

export async function getSkill(
  deps: SkillDeps,
  caller: Caller,
  id: string,
): Promise<SkillRecord | LoadedSkill> {
  requireScope(caller, "skills:read");
  const loaded = loadedSkills(agentsOf(deps.agents, caller)).find((skill) => skill.id === id);
  return loaded ?? (await getRecord(deps, caller, "skill", id));
}

export async function listSkills(
  deps: SkillDeps,
  caller: Caller,
  { cursor, limit = pageSizeDefault }: PageRequest,
): Promise<Page<SkillRecord | LoadedSkill>> {
  requireScope(caller, "skills:read");
  const loaded = loadedSkills(agentsOf(deps.agents, caller));
  if (cursor !== undefined && isOf(loadedList, cursor)) return pageOf(loadedList, loaded, { cursor, limit });
  const registered = await listLive(deps, caller, "skill", { cursor, limit });
  if (registered.nextCursor !== null) return registered;
  const room = limit - registered.data.length;
  if (room === 0) return { data: registered.data, nextCursor: encodeCursor(loadedList, { born: 0, id: "" }) };
  const rest = pageOf(loadedList, loaded, { limit: room });
  return { data: [...registered.data, ...rest.data], nextCursor: rest.nextCursor };
}

export function getTool({ agents }: SkillDeps, caller: Caller, id: string): LoadedTool {
  requireScope(caller, "tools:read");
  const tool = loadedTools(agentsOf(agents, caller)).find((each) => each.id === id);
  if (tool === undefined) throw notFound("tool", id);
  return tool;
}

export function listTools({ agents }: SkillDeps, caller: Caller, request: PageRequest): Page<LoadedTool> {
  requireScope(caller, "tools:read");
  return pageOf("tool", loadedTools(agentsOf(agents, caller)), request);
}

const loadedList = "loaded_skill";

/** Agents that declare a tool of the same name mean the same tool; the first one describes it. */
function loadedTools(agents: readonly AgentInfo[]): LoadedTool[] {
  const tools = new Map<string, LoadedTool>();
  for (const tool of agents.flatMap((agent) => agent.tools))
    if (!tools.has(tool.name)) tools.set(tool.name, { ...tool, id: tool.name });
  return [...tools.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** A page of what is in memory, in order of its ids. */
export function pageOf<T extends { id: string }>(
  list: string,
  items: readonly T[],
  { cursor, limit = pageSizeDefault }: PageRequest,
): Page<T> {
  const after = cursor === undefined ? "" : decodeCursor(list, cursor).id;
  const rest = items.filter(({ id }) => id > after);
  const data = rest.slice(0, limit);
  const last = data.at(-1);
  const more = rest.length > limit && last !== undefined;
  return { data, nextCursor: more ? encodeCursor(list, { born: 0, id: last.id }) : null };
}

function isOf(list: string, cursor: string): boolean {
  try {
    decodeCursor(list, cursor);
    return true;
  } catch {
    return false;
  }
}
