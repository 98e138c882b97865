/** What a server is told, and what it does when it is told nothing. */

import type { Logger } from "pino";
import { type GatewaySettings, gatewayDefaults } from "../harp/gateway/settings.ts";
import { keyWaitMsDefault } from "../kernel/approvals/access.ts";
import { heldMsDefault } from "../kernel/openharness/held-states.ts";
import type { EnsurePersona } from "../kernel/personas/ensure-persona.ts";
import { defaultAgent } from "../kernel/workspaces/ensure-tenant.ts";
import type { McpAccess } from "../mcp-client/mcp.ts";
import type { ModelSource } from "../models/model.ts";
import { keyMsDefault } from "../policy/api-key.ts";
import type { TrustedIssuer } from "../policy/external-issuers.ts";
import type { OperatorSecretSettings } from "../policy/operator-secrets.ts";
import { authFailuresMaxDefault } from "../policy/rate-limit.ts";
import type { Agent, AgentContext } from "../runtime/agents/agent.ts";
import { waitMsDefault } from "../runtime/run/waits.ts";
import { type WebhookBackoff, webhookBackoff } from "../runtime/webhooks/retry-settings.ts";
import { emptyWorld } from "../runtime/world.ts";
import { type DiskFloor, diskFloorDefault } from "../store/sqlite/free-space.ts";
import type { Tls } from "../surfaces/tls.ts";
import type { AnyTool } from "../tools/tool.ts";

/** How the server asks approvers. */
export interface EnforcerConfig {
  /** Its name at the gateway. */
  id: string;
  /** What approvers are told about who asks them. */
  label: string;
  /** The gateway that it asks through, and the key for it; null is the one in this process. */
  remoteGateway: { url: string; key: string } | null;
  /** How long a further key of an approver waits before it counts without that approver's signature; 0 does not wait. */
  keyWaitMs: number;
}

export interface ServerConfig {
  host: string;
  /** 0 lets the system choose. */
  port: number;
  /** The port for gRPC; null has none. */
  grpcPort: number | null;
  /** The port on which the gateway is alone, beside its place on the first one; null has none. */
  harpPort: number | null;
  /** A certificate and its key, as PEM, for all ports; null leaves encryption to whoever is in front. */
  tls: Tls | null;
  /** Accepts plain HTTP on addresses that other machines reach, with no trusted proxy in front. */
  insecureHttp: boolean;
  dataDirectory: string;
  /** PostgreSQL in place of the databases in the data directory, which then holds keys and files only; null keeps all there. */
  databaseUrl: string | null;
  /** A fixed administrator key; without one, a key is made on first start and kept in the data directory. */
  apiKey: string | null;
  /** Agents beside the built-in ones. */
  agents: readonly Agent[];
  /** Where models come from; providers by the keys in the environment unless said. */
  models: ModelSource;
  /** Tools that agents can use beside their own and the built-in ones. */
  tools: readonly AnyTool<AgentContext>[];
  mcp: McpAccess;
  /**
   * Whether `replaceAgents` may be called: then it is remembered for every open task which code it started with, which
   * costs a little memory for each.
   */
  agentsMayChange: boolean;
  /** Personas that are made, or changed, before anything else happens. */
  personas: readonly EnsurePersona[];
  /** Whether every agent has a persona from the start (`persona_<agent>`), which may do everything. */
  defaultPersonas: boolean;
  /** Whether `rehearsal` and `tour` are loaded; `auto` loads them while nobody but this machine reaches the server. */
  builtInAgents: BuiltInAgents;
  logger: Logger;
  /** Runs in memory at once. */
  concurrency: number;
  /** Where clients find the server, when that is not where it listens: behind a proxy, say. */
  publicUrl: string | null;
  /** Texts that personas can name as their context, by their names. */
  contextPacks: ReadonlyMap<string, string>;
  /** Issuers whose tokens are accepted beside the server's own, and where their keys are: a URL or a file. */
  oauthIssuers: readonly TrustedIssuer[];
  /** What their tokens must be made for; the public URL when it is not set. */
  oauthAudience: string | null;
  /** Failed authentications a minute from one address, beyond which it is told to wait. */
  authFailuresMax: number;
  /** Requests a minute with one key; null does not count them, `auto` only where nobody but this machine reaches the server. */
  requestsPerMinute: number | null | "auto";
  /** Proxies in front of the server, by address or range, that say truly for whom they ask. */
  trustedProxies: readonly string[];
  /** Further names under which clients reach the server, without ports. When set, requests for other names are refused. */
  allowedHosts: readonly string[];
  /** Origins whose scripts may use the API from a browser. */
  corsOrigins: readonly string[];
  /** The largest request body, and the largest WebSocket frame, that is read. */
  bodyBytesMax: number;
  /**
   * How often open connections get a sign of life, and whether they may still be open is looked at. A WebSocket that
   * misses three of them is ended.
   */
  heartbeatMs: number;
  /** How long a client may take nothing of what is sent to it, or send nothing of an upload, before its connection is closed. */
  stalledClientMs: number;
  webSocket: {
    /** How long a connection may be open before it says hello. */
    helloMs: number;
    /** How long a ticket is good. */
    ticketMs: number;
  };
  /** How long a call of a public agent without credentials may last, streams included. */
  anonymousMs: number;
  /** The largest artifact that can be uploaded. */
  artifactBytesMax: number;
  /** Free disk space below which nothing that adds data is accepted. */
  diskFloor: DiskFloor;
  /** Directories in which workspaces may have their own roots; elsewhere their files are in the data directory. */
  workspaceRoots: readonly string[];
  /** The operator's master key for vaults and those before it; none means one in the data directory. */
  masterKeys: readonly string[];
  /** Environment variables and files that vaults of the default tenant may read. */
  operatorSecrets: OperatorSecretSettings;
  /** Webhooks, and others that callers name, may also be on loopback or private addresses, and without TLS. */
  allowPrivateAddresses: boolean;
  /** Addresses and ranges that webhooks, remote agents and `http.get` never reach, beside private ones. */
  blockedRanges: readonly string[];
  /** When webhooks that do not take a notification are told again, and how often. */
  webhookBackoff: WebhookBackoff;
  /** When new API keys end that were made without an end; null is never. */
  keyMs: number | null;
  /** Whether receipts are made on a thread of their own. It takes a moment to start: without it, servers of tests come and go faster. */
  receiptsThread: boolean;
  /** How long what ended is kept in the log; null keeps everything. */
  retainMs: number | null;
  openHarness: {
    /** How long a shell is kept waiting for the response to a request. */
    waitMs: number;
    /** How long a run can be continued after a response. */
    continuationMs: number;
    /** How long secret state of a shell is held in memory. */
    heldMs: number;
  };
  enforcer: EnforcerConfig;
  /** Whether an OPVS call that says no version is taken as 1.0 when that is how it looks. */
  opvsLenientVersion: boolean;
  /** The agent at addresses that name none: the card at the root, the front door of OPVS. */
  defaultAgent: string;
  /** Where clients find gRPC, with the scheme: when that is not where it listens. */
  publicGrpcUrl: string | null;
  /** What holds for the gateway. */
  gateway: GatewaySettings;
  metrics: MetricsAccess;
  /** Ends the process on the spot and starts it again, for the console's "Crash it"; null does not offer it. */
  crash: (() => void) | null;
}

export const builtInAgentsChoices = ["on", "off", "auto"] as const;
export type BuiltInAgents = (typeof builtInAgentsChoices)[number];

/** Who may read `/metrics`: keys with the scope `metrics:read`, everybody who reaches the port, or nobody, and nothing is counted. */
export const metricsAccesses = ["auth", "open", "off"] as const;
export type MetricsAccess = (typeof metricsAccesses)[number];

/** Of `bridle serve`. A server within another program opens a second port only when it is told to. */
export const grpcPortDefault = 50_051;

export const defaultConfig = {
  host: "127.0.0.1",
  port: 8080,
  grpcPort: null,
  harpPort: null,
  tls: null,
  insecureHttp: false,
  dataDirectory: "./.bridle",
  databaseUrl: null,
  apiKey: null,
  agents: [],
  tools: [],
  mcp: emptyWorld.mcp,
  agentsMayChange: false,
  personas: [],
  defaultPersonas: true,
  builtInAgents: "auto",
  publicUrl: null,
  oauthIssuers: [],
  oauthAudience: null,
  authFailuresMax: authFailuresMaxDefault,
  requestsPerMinute: "auto",
  trustedProxies: [],
  allowedHosts: [],
  corsOrigins: [],
  concurrency: 256,
  bodyBytesMax: 4 * 1024 * 1024,
  heartbeatMs: 15_000,
  stalledClientMs: 5 * 60_000,
  webSocket: { helloMs: 10_000, ticketMs: 60_000 },
  anonymousMs: 10 * 60_000,
  artifactBytesMax: 256 * 1024 * 1024,
  diskFloor: diskFloorDefault,
  workspaceRoots: [],
  masterKeys: [],
  contextPacks: new Map<string, string>(),
  operatorSecrets: { envPrefix: null, directory: null },
  allowPrivateAddresses: false,
  blockedRanges: [],
  webhookBackoff,
  keyMs: keyMsDefault,
  receiptsThread: true,
  retainMs: null,
  openHarness: { waitMs: 25_000, continuationMs: waitMsDefault, heldMs: heldMsDefault },
  enforcer: { id: "bridle", label: "Bridle", remoteGateway: null, keyWaitMs: keyWaitMsDefault },
  opvsLenientVersion: false,
  defaultAgent,
  publicGrpcUrl: null,
  gateway: gatewayDefaults,
  metrics: "auth",
  crash: null,
} as const satisfies Omit<ServerConfig, "logger" | "models">;
