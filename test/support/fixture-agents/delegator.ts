/** Hands work on as its input says, one after the other or all at once, and gives back what came of each. */

import { type AgentContext, AgentFailure, defineAgent, type HandoffRequest } from "bridle";
import type { JsonValue } from "../../../src/store/port.ts";

export const delegator = defineAgent({
  name: "delegator",
  version: "1",
  async run(ctx) {
    const { requests, isParallel } = jsonOf<Work>(ctx.input);
    if (isParallel === true) return await Promise.all(requests.map((request) => attempt(ctx, request)));
    const results: JsonValue[] = [];
    for (const request of requests) results.push(await attempt(ctx, request));
    return results;
  },
});

interface Work {
  requests: HandoffRequest[];
  isParallel?: boolean;
}

/** Tests write their requests in the agent's own terms. */
function jsonOf<T>(input: object): T {
  return JSON.parse(JSON.stringify(input));
}

async function attempt(ctx: AgentContext, request: HandoffRequest): Promise<JsonValue> {
  try {
    return await ctx.handoff(request);
  } catch (error) {
    if (!(error instanceof AgentFailure)) throw error;
    return { error: error.code, message: error.message };
  }
}

export default delegator;
