/**
 * Those who use a public agent without saying who they are: one actor for all of them, in the tenant that the agent names,
 * bound to a workspace that has nothing else in it. How often they may call is counted here, in memory; what their work
 * may cost is for quotas of that workspace.
 */

import { HarnessError } from "../../kernel/core/errors.ts";
import type { AgentDirectory } from "../../kernel/personas/agents.ts";
import { publicWorkspaceId } from "../../kernel/workspaces/ensure-public-workspace.ts";
import type { Caller } from "../../policy/caller.ts";
import { addressGroup, RateLimit } from "../../policy/rate-limit.ts";
import type { Call } from "./call.ts";
import { opvsScopes } from "./scopes.ts";

/** What all addresses together may ask of an agent, as a multiple of what one may: one cannot shut out the others. */
const addressesAtOnce = 10;

export type AnonymousCaller = (agent: string, address: string) => Caller;

interface Limits {
  perAddress: RateLimit;
  together: RateLimit;
}

/** Gives the caller for an agent that is public; refuses everybody else, and those who call too often. */
export function createAnonymousCaller(agents: AgentDirectory, now: () => number): AnonymousCaller {
  const limits = new Map<string, Limits>();
  return (name, address) => {
    const agent = agents.find(name);
    const open = agent?.card.public ?? null;
    if (open === null) throw new HarnessError("unauthenticated", "Send an API key or an access token.");
    const { tenantId, requestsPerMinute } = open;
    const found = limits.get(name) ?? limitsOf(requestsPerMinute, now);
    limits.set(name, found);
    countCall(found, addressGroup(address));
    return {
      actor: "anonymous",
      tenantId,
      workspaceIds: [publicWorkspaceId(tenantId)],
      scopes: new Set(opvsScopes),
    };
  };
}

/** Refuses those who did not say who they are. */
export function requireName({ isAnonymous }: Pick<Call, "isAnonymous">, what: string): void {
  if (isAnonymous) throw new HarnessError("unauthenticated", `${what} for callers with credentials.`);
}

function limitsOf(perMinute: number, now: () => number): Limits {
  return {
    perAddress: new RateLimit(perMinute, now),
    together: new RateLimit(perMinute * addressesAtOnce, now),
  };
}

/** A call that is refused costs nothing: who waits as long as told gets in. */
function countCall({ perAddress, together }: Limits, group: string): void {
  const seconds = Math.max(perAddress.secondsToWait(group), together.secondsToWait("all"));
  if (seconds > 0) {
    throw new HarnessError(
      "rate_limited",
      `Too many calls without credentials. Try again in ${seconds} seconds, or with an API key.`,
      { details: { retry_after_seconds: seconds } },
    );
  }
  perAddress.count(group);
  together.count("all");
}
