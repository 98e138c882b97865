/** The agents that are loaded here: what tasks can be given to. They are the server's; a persona of the caller's tenant stands for each. */

import type { Caller } from "../../policy/caller.ts";
import { requireScope } from "../access/authorize.ts";
import { notFound } from "../core/errors.ts";
import { findVisible, type Page, type ReadDeps } from "../core/read.ts";
import { type PageRequest, pageOf } from "../skills/read-skills.ts";
import { personaIdOf } from "../workspaces/ensure-tenant.ts";
import type { AgentDirectory, AgentInfo } from "./agents.ts";
import { agentsOf, mayReachAgent } from "./reachable-agents.ts";

export interface AgentDeps extends ReadDeps {
  agents: AgentDirectory;
}

export interface LoadedAgent extends AgentInfo {
  id: string;
  /** The newest first; tasks that are submitted now get that one. */
  versions: string[];
  /** The persona that came with it; null in a tenant that has none. */
  persona_id: string | null;
}

export async function getAgent(deps: AgentDeps, caller: Caller, name: string): Promise<LoadedAgent> {
  requireScope(caller, "personas:read");
  const info = deps.agents.find(name);
  if (info === undefined || !mayReachAgent(caller, name)) throw notFound("agent", name);
  return await described(deps, caller, info);
}

/** By name. */
export async function listAgents(
  deps: AgentDeps,
  caller: Caller,
  request: PageRequest,
): Promise<Page<LoadedAgent>> {
  requireScope(caller, "personas:read");
  const named = agentsOf(deps.agents, caller).map((info) => ({ ...info, id: info.name }));
  const { data, nextCursor } = pageOf(
    "agent",
    named.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    request,
  );
  return { data: await Promise.all(data.map((info) => described(deps, caller, info))), nextCursor };
}

async function described(deps: AgentDeps, caller: Caller, info: AgentInfo): Promise<LoadedAgent> {
  const persona = await findVisible(deps.store, caller, "persona", personaIdOf(info.name, caller.tenantId));
  return {
    ...info,
    id: info.name,
    versions: deps.agents.versions(info.name),
    persona_id: persona?.id ?? null,
  };
}
