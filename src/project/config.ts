/** What `bridle.config.ts` may say: the settings of `bridle serve`, and what has no place on a command line. */

import type { EnsurePersona } from "../kernel/personas/ensure-persona.ts";
import type { McpServerSettings } from "../mcp-client/mcp.ts";
import type { ModelSettings } from "../models/settings.ts";
import type { Agent, AgentContext } from "../runtime/agents/agent.ts";
import type { AnyTool } from "../tools/tool.ts";

/**
 * The settings of `bridle serve`, by the names of their flags. A flag beats the environment, the environment beats what is
 * said here, and this beats the default. Paths are relative to the file.
 */
export interface ConfigSettings {
  /** 0 lets the system choose. */
  port?: number;
  grpcPort?: number | "off";
  /** The port on which the HARP gateway is alone, beside /harp. */
  harpPort?: number | "off";
  host?: string;
  /** Files with PEM. */
  tlsCert?: string;
  tlsKey?: string;
  tlsClientCa?: string;
  /** Accepts plain HTTP on addresses that other machines reach. */
  insecureHttp?: boolean;
  /** The directory where the log and everything else is kept. */
  data?: string;
  /** PostgreSQL in place of the databases in `data`. With a password it is better set in the environment. */
  databaseUrl?: string;
  /** A fixed administrator key. Better set in the environment: this file is kept with the code. */
  apiKey?: string;
  publicUrl?: string;
  /** `issuer=jwks`, with the URL or the file of its keys. */
  oauthIssuer?: string[];
  oauthAudience?: string;
  /** Wrong credentials a minute from one address before it must wait. */
  authFailures?: number;
  /** Requests a minute that one key may send. */
  rateLimit?: number | "off";
  /** Environment variables that begin so can be read by vaults of the provider env. */
  vaultEnvPrefix?: string;
  /** A directory whose files can be read by vaults of the provider file. */
  vaultFiles?: string;
  trustProxy?: string[];
  allowedHosts?: string[];
  corsOrigin?: string[];
  logLevel?: "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
  /** Who may read `/metrics`. */
  metrics?: "auth" | "open" | "off";
  /** Runs in memory at once. */
  concurrency?: number;
  artifactBytesMax?: number;
  /** Free disk space below which nothing that adds data is accepted: `"512MB"`, `"2GB"`, `"5%"`, or 0 for none. */
  diskFloor?: string | number;
  workspaceRoots?: string[];
  /** How long running steps may go on after Ctrl-C. */
  graceMs?: number;
  /** How long a client may take nothing of a response, or send nothing of an upload. */
  stalledClientMs?: number;
  /** Days until an API key expires that is made without `expires_at`: 90, unless set; or `"never"`. */
  keyDays?: number | "never";
  /** Days after which what ended leaves the log. */
  retainDays?: number;
  openharnessWaitMs?: number;
  /** Opens the console in a browser when the server has started. */
  open?: boolean;
  opvsLenientVersion?: boolean;
  /** The agent at addresses that name none; the project's own, where it has one. */
  defaultAgent?: string;
  /** Where clients find gRPC: `https://agents.example.com:443`. */
  publicGrpcUrl?: string;
  allowPrivateAddresses?: boolean;
  /** Addresses and ranges that webhooks, remote agents and `http.get` never reach. */
  blockedRanges?: string[];
  /** Asks approvers through this HARP gateway; its key is `BRIDLE_GATEWAY_KEY` in the environment. */
  gateway?: string;
  enforcerId?: string;
  enforcerLabel?: string;
  /** Whether every agent has a persona from the start that may do everything. */
  defaultPersonas?: "on" | "off";
  /** Whether the agents `rehearsal` and `tour` are loaded. */
  builtInAgents?: "on" | "off" | "auto";
  /** Hours in which approvers can refuse a further key of an approver. */
  approverWaitHours?: number;
  harpRetainDays?: number;
  harpLifetimeHours?: number;
  harpCallsPerMinute?: number;
  harpPairingsPerMinute?: number;
  harpPingMs?: number;
  harpIdleMs?: number;
  harpPresenceMs?: number;
  harpStripMetadata?: string[];
}

/**
 * A persona that is there when the server is. The one of this name is changed to what is said here, or made if there is none;
 * what is not said stays as it is.
 */
export type PersonaSettings = EnsurePersona;

export interface BridleConfig extends ConfigSettings {
  /** Agents, or modules that export some, by path or pattern; `agents/*.{ts,mts,js,mjs}` beside this file when left out. */
  agents?: (Agent | string)[];
  models?: ModelSettings;
  /** By the name under which agents call their tools: `name.tool`. */
  mcpServers?: Record<string, McpServerSettings>;
  /** Tools for all agents. */
  tools?: AnyTool<AgentContext>[];
  personas?: PersonaSettings[];
}

/** Gives the configuration back, checked by the compiler; what is in it is checked when it is loaded. */
export function defineConfig(config: BridleConfig): BridleConfig {
  return config;
}
