/** The agent behind an address: the one it names or, at the front door, that of the tenant's default persona. */

import type { AgentInfo } from "../../../kernel/agents.ts";
import { defaultAgent, defaultTenantId } from "../../../kernel/commands/ensure-tenant.ts";
import { HarnessError } from "../../../kernel/errors.ts";
import type { Kernel } from "../../../kernel/kernel.ts";
import { findVisible } from "../../../kernel/queries/read.ts";
import { systemCaller } from "../../../policy/caller.ts";

/** The server's own tenant speaks for those of whom nothing is known. */
export async function requireAgent(
  kernel: Kernel,
  name: string | null,
  tenantId = defaultTenantId,
): Promise<AgentInfo> {
  const agent = name === null ? await frontAgent(kernel, tenantId) : kernel.agents.find(name);
  if (agent !== undefined) return agent;
  throw new HarnessError("resource_not_found", "There is no agent at this address.");
}

async function frontAgent({ store, agents }: Kernel, tenantId: string): Promise<AgentInfo | undefined> {
  const system = systemCaller(tenantId);
  const tenant = await findVisible(store, system, "tenant", tenantId);
  const persona = tenant && (await findVisible(store, system, "persona", tenant.default_persona_id));
  return agents.find(persona?.entry_workflow ?? defaultAgent) ?? agents.find(defaultAgent);
}
