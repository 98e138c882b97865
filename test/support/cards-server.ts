/** A server with agents whose cards differ in every way that a card can, public ones among them. */

import { type AgentCard, defineAgent, type ServerConfig } from "bridle";
import { Type } from "typebox";
import { serve } from "./serve.ts";

function agentWith(name: string, card: AgentCard, description = `Is ${name}.`) {
  return defineAgent({ name, version: "2.1.0", description, card, run: async (ctx) => `heard: ${ctx.text}` });
}

const skilled = defineAgent({
  name: "skilled",
  version: "1.0.0",
  description: "Has skills, some of which say little of themselves. \u{1F9F0}\uD800",
  skills: [
    {
      id: "count-words",
      name: "Count words",
      description: "Counts.",
      input: Type.Object({ text: Type.String() }),
    },
    { id: "ÄÖ.x", name: " ", description: "" },
  ],
  card: {
    inputModes: ["text/plain", "image/*"],
    outputModes: ["application/json"],
    streaming: false,
    pushNotifications: false,
    extensions: [
      { uri: "urn:example:plain:1" },
      {
        uri: "urn:example:needed:2",
        description: "Needed.",
        required: true,
        params: { depth: 3, of: ["a", false] },
      },
    ],
  },
  run: async () => "done",
});

/** Never comes to an end by itself. */
const patient = defineAgent({
  name: "patient",
  version: "1",
  description: "Sleeps.",
  card: { public: { requestsPerMinute: 1000 } },
  async run(ctx) {
    await ctx.sleep(60 * 60_000);
    return "done";
  },
});

export const closedAgents = [
  skilled,
  agentWith("silent", {}, "  "),
  agentWith("plain", { extendedCard: "no" }),
  agentWith("unset", { extendedCard: "unconfigured" }),
];
export const openAgents = [
  patient,
  agentWith("open", { public: { requestsPerMinute: 1000 } }),
  agentWith("narrow", { public: { requestsPerMinute: 3 } }),
  agentWith("elsewhere", { public: { tenantId: "tenant_lobby", requestsPerMinute: 1000 } }),
];

export const config: Partial<ServerConfig> = { agents: [...closedAgents, ...openAgents] };

if (import.meta.main) await serve(config);
