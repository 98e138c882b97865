/** The agents that are loaded. */

import { getAgent, type LoadedAgent, listAgents } from "../../../kernel/personas/read-agents.ts";
import { presentPage } from "../lists.ts";
import { cameWithServer } from "../present.ts";
import { type Route, route } from "../route.ts";
import { ListOf, PageQuery } from "../schemas.ts";
import { Agent } from "../schemas-knowledge.ts";

const tag = "Agents";

/** How it is shown to other agents is its card's matter. */
function presentAgent({ card: _, tools, ...shown }: LoadedAgent, startedAt: string): object {
  return { ...shown, ...cameWithServer("agent", startedAt), tools: tools.map(({ name }) => name) };
}

export function agentRoutes(startedAt: string): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/agents",
      operationId: "listAgents",
      scope: "personas:read",
      summary: "List the agents that are loaded, by name: what tasks can be given to.",
      tag,
      query: PageQuery,
      response: ListOf(Agent),
      async handle(call) {
        return presentPage(await listAgents(call.kernel, call.caller, call.query), (agent) =>
          presentAgent(agent, startedAt),
        );
      },
    }),
    route({
      method: "GET",
      path: "/v1/agents/{agent_name}",
      operationId: "getAgent",
      scope: "personas:read",
      summary: "Read what an agent is, in which versions it is loaded, and which persona came with it.",
      tag,
      response: Agent,
      async handle(call) {
        return presentAgent(await getAgent(call.kernel, call.caller, call.param("agent_name")), startedAt);
      },
    }),
  ];
}
