/** What this server is and speaks: discovery, the agent card, versions, capabilities, health. */

import { harpVersion } from "../../../harp/core/wire.ts";
import type { Kernel } from "../../../kernel/kernel.ts";
import { loadedSkills } from "../../../kernel/skills/skills.ts";
import { defaultTenantId } from "../../../kernel/workspaces/ensure-tenant.ts";
import {
  harpPath,
  mcpPath,
  mcpVersion,
  openHarnessPath,
  openHarnessVersion,
  opvsPath,
} from "../../addresses.ts";
import { isReady, readinessOf, type ServerFacts } from "../../server-facts.ts";
import { SignedDocuments } from "../../signed-documents.ts";
import { presentSkill } from "../present.ts";
import { protocolVersion, supportedVersions } from "../protocol.ts";
import { publicRoute, type Route, route } from "../route.ts";
import {
  CapabilitySummary,
  Discovery,
  HarnAgentCard,
  Health,
  RuntimeMetadata,
  RuntimeVersion,
} from "../schemas-discovery.ts";
import { signHarnCard } from "../signed-card.ts";

const tag = "Discovery";

const dayMs = 24 * 60 * 60 * 1000;

const capabilities = [
  { id: "rest", description: "Resources over HTTP and JSON." },
  { id: "sse", description: "Event streams that resume from any event." },
  { id: "websocket", description: "Interactive sessions and event streams over WebSocket." },
  {
    id: "host_mediation",
    description: "Tasks can have a host that is connected to their session do something.",
  },
  { id: "durable_tasks", description: "Accepted tasks survive a crash of the server." },
  { id: "idempotency", description: "Writes can be repeated safely under an Idempotency-Key." },
  { id: "human_input", description: "Tasks can ask questions and wait for the answer." },
  { id: "approvals", description: "Tasks can ask for permission and wait for it." },
  { id: "receipts", description: "Every task that ended has a signed receipt in its workspace's chain." },
  { id: "replay", description: "What has ended can be run again from its log, with other values if asked." },
  { id: "vaults", description: "Secrets are kept encrypted and given to runs only." },
  { id: "workspace_files", description: "Text files of workspaces can be read and written." },
  { id: "openharness", description: "Shells speak to agents over OpenHarness." },
  { id: "mcp", description: "Agents are tools for clients of the Model Context Protocol." },
  { id: "artifact_uploads", description: "Artifacts are uploaded as streams and downloaded in ranges." },
];

/** Whether the server lives, takes work, and in which version. */
export function healthRoutes(facts: ServerFacts): Route[] {
  return [
    publicRoute({
      path: "/health",
      operationId: "getHealth",
      summary: "Whether the process is alive.",
      tag: "Runtime",
      response: Health,
      handle: async () => ({ ok: true, status: "ok", version: facts.version }),
    }),
    publicRoute({
      path: "/ready",
      operationId: "getReadiness",
      summary: "Whether the server takes new work.",
      tag: "Runtime",
      response: Health,
      async handle(_request, reply) {
        const ok = isReady(facts);
        return reply.code(ok ? 200 : 503).send({ ok, ...readinessOf(facts), version: facts.version });
      },
    }),
    publicRoute({
      path: "/version",
      operationId: "getVersion",
      summary: "The versions of server and protocol.",
      tag: "Runtime",
      response: RuntimeVersion,
      handle: async () => ({ object: "version", version: facts.version, protocol_version: protocolVersion }),
    }),
  ];
}

export function discoveryRoutes(kernel: Kernel, facts: ServerFacts, a2aCard: () => object): Route[] {
  const cards = new SignedDocuments(kernel.issuer, signHarnCard);
  return [
    ...healthRoutes(facts),
    publicRoute({
      path: "/v1",
      operationId: "getProtocolDiscovery",
      summary: "Supported protocol versions and capabilities.",
      tag,
      response: Discovery,
      handle: async () => ({
        object: "protocol_discovery",
        protocol_family: "harn_agents_protocol",
        current_version: protocolVersion,
        supported_versions: supportedVersions,
        capabilities: { rest: true, sse: true, websocket: true, receipts: true, replay: true },
        protocols: [
          { id: "harn", version: protocolVersion, path: "/v1" },
          { id: "opvs", version: "1.0", path: opvsPath },
          { id: "harp", version: harpVersion, path: harpPath },
          { id: "openharness", version: openHarnessVersion, path: openHarnessPath },
          { id: "mcp", version: mcpVersion, path: mcpPath },
        ],
      }),
    }),
    publicRoute({
      path: "/v1/agent-card",
      operationId: "getAgentCard",
      summary: "The signed card of this server and its agents. `If-None-Match` asks whether it has changed.",
      tag,
      response: HarnAgentCard,
      handle: async (request, reply) => cards.send("card", agentCard(kernel, facts, a2aCard), request, reply),
    }),
    route({
      method: "GET",
      path: "/v1/runtime",
      operationId: "getRuntime",
      scope: null,
      summary: "What runs here.",
      tag: "Runtime",
      response: RuntimeMetadata,
      async handle({ store, caller, kernel: { retainMs, defaultAgent } }) {
        return {
          object: "runtime",
          version: facts.version,
          protocol_version: protocolVersion,
          adapter: "bridle",
          default_agent: defaultAgent,
          retention_days: retainMs === null ? null : retainMs / dayMs,
          session_count: await store.of(caller.tenantId).count("session"),
          task_count: await store.of(caller.tenantId).count("task"),
          capabilities,
        };
      },
    }),
    route({
      method: "GET",
      path: "/v1/capabilities",
      operationId: "listCapabilities",
      scope: null,
      summary: "What this server can do.",
      tag: "Runtime",
      response: CapabilitySummary,
      handle: async () => ({ object: "capability_summary", capabilities }),
    }),
  ];
}

/** Made from the agents that are loaded and nothing that changes meanwhile: equal agents, equal card. */
function agentCard(kernel: Kernel, facts: ServerFacts, a2aCard: () => object): Record<string, unknown> {
  const { createdAt } = facts;
  const url = facts.url();
  const agents = kernel.agents.list();
  const skills = loadedSkills(agents).map((skill) => presentSkill(skill, createdAt));
  const name = "Bridle";
  const description = `A durable agent harness with the agents ${agents.map((agent) => agent.name).join(", ")}.`;
  return {
    id: `card_${defaultTenantId}`,
    object: "harn_agent_card",
    created_at: createdAt,
    updated_at: createdAt,
    metadata: {},
    name,
    description,
    protocol_version: protocolVersion,
    public_url: url,
    provider: kernel.agents.find(kernel.defaultAgent)?.card.provider ?? null,
    capabilities: capabilities.map(({ id }) => id),
    receipt_policy: "required",
    a2a_card: a2aCard(),
    skills,
    harn_interfaces: [
      { transport: "rest", url: `${url}/v1` },
      { transport: "sse", url: `${url}/v1/events/stream` },
      { transport: "websocket", url: `${url.replace(/^http/, "ws")}/v1/sessions/{session_id}/ws` },
      { transport: "a2a", url: `${url}${opvsPath}/rpc` },
      { transport: "mcp", url: `${url}${mcpPath}` },
      { transport: "openharness", url: `${url}${openHarnessPath}` },
    ],
    auth_schemes: ["bearer", "oauth2"],
  };
}
