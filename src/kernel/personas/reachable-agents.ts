/** The loaded agents that a caller may give work to: through the persona that each has from the start. */

import { type Caller, mayReach } from "../../policy/caller.ts";
import { personaIdOf } from "../workspaces/ensure-tenant.ts";
import type { AgentDirectory, AgentInfo } from "./agents.ts";

export function agentsOf(agents: AgentDirectory, caller: Caller): AgentInfo[] {
  return agents.list().filter(({ name }) => mayReachAgent(caller, name));
}

export function mayReachAgent(caller: Caller, name: string): boolean {
  return mayReach(caller, personaIdOf(name, caller.tenantId), name);
}
