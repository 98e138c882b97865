/** The agent that a call is for. */

import { HarnessError } from "../../kernel/core/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { AgentInfo } from "../../kernel/personas/agents.ts";
import { builtInExtensions } from "./extensions.ts";

export function addressed({ kernel, agent }: { kernel: Kernel; agent: string | null }): AgentInfo {
  const name = agent ?? kernel.defaultAgent;
  const info = kernel.agents.find(name);
  if (info !== undefined) return info;
  throw new HarnessError("resource_not_found", `No agent ${JSON.stringify(name)} is loaded here.`);
}

/** Everything beyond the protocol that can be asked of an agent. */
export function extensionsOf({ card }: AgentInfo): AgentInfo["card"]["extensions"] {
  return [...builtInExtensions, ...card.extensions];
}
