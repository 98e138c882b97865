/** What the settings and the project come to: all that a server is told. */

import { resolve } from "node:path";
import type { Logger } from "pino";
import { createMcp } from "../../mcp-client/access.ts";
import { createModels } from "../../models/providers.ts";
import type { Project } from "../../project/load.ts";
import { defaultConfig, type ServerConfig } from "../../server/config.ts";
import { exporterSecrets } from "../../telemetry/traces/settings.ts";
import { version } from "../../version.ts";
import { gatewaySettingsOf } from "./gateway-options.ts";
import { tlsOf } from "./listen-options.ts";
import type { ServeSecrets } from "./secret-files.ts";
import type { ServeSettings } from "./settings.ts";

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/** What a server is told with, by every command that starts one. */
export interface Serving {
  settings: ServeSettings;
  secrets: ServeSecrets;
  project: Project;
}

/** Everything that must not be in a log line. */
export function knownSecrets({ settings, secrets, project }: Serving): string[] {
  const keys = Object.values(project.models.providers ?? {}).map(({ apiKey }) => apiKey);
  const sent = [...sentAlong(project), ...exporterSecrets(process.env)];
  const all = [
    settings.apiKey,
    passwordIn(settings.databaseUrl),
    secrets.gatewayKey,
    ...secrets.masterKeys,
    ...keys,
    ...sent.filter(isSecret),
  ];
  return all.filter((secret) => secret != null);
}

function passwordIn(url: string | undefined): string | null {
  return url === undefined ? null : decodeURIComponent(new URL(url).password) || null;
}

/** Shorter values of headers and environments are words, not secrets. */
function isSecret({ length }: string): boolean {
  return length >= 8;
}

/** Headers and environments mostly hold credentials. */
function sentAlong({ models, mcpServers }: Project): string[] {
  const headers = Object.values(models.providers ?? {}).map((provider) => provider.headers ?? {});
  const ofServers = Object.values(mcpServers).map((server) =>
    "url" in server ? (server.headers ?? {}) : (server.env ?? {}),
  );
  return [...headers, ...ofServers].flatMap((values) => Object.values(values));
}

/** Whoever has one agent means that one. */
function onlyAgentOf({ agents }: Project): string | undefined {
  const [name, ...others] = new Set(agents.map(({ agent }) => agent.name));
  return others.length === 0 ? name : undefined;
}

export function serverConfigOf(serving: Serving, logger: Logger): Partial<ServerConfig> {
  const { settings, project } = serving;
  const { masterKeys, gatewayKey } = serving.secrets;
  return {
    host: settings.host,
    port: settings.port,
    grpcPort: settings.grpcPort === "off" ? null : settings.grpcPort,
    harpPort: settings.harpPort === "off" ? null : settings.harpPort,
    tls: tlsOf(settings),
    insecureHttp: settings.insecureHttp,
    dataDirectory: resolve(settings.data),
    databaseUrl: settings.databaseUrl ?? null,
    apiKey: settings.apiKey ?? null,
    logger,
    publicUrl: settings.publicUrl ?? null,
    publicGrpcUrl: settings.publicGrpcUrl ?? null,
    defaultAgent: settings.defaultAgent ?? onlyAgentOf(project) ?? defaultConfig.defaultAgent,
    agents: project.agents.map(({ agent }) => agent),
    personas: project.personas,
    contextPacks: project.contextPacks,
    defaultPersonas: settings.defaultPersonas === "on",
    builtInAgents: settings.builtInAgents,
    models: createModels(project.models),
    mcp: createMcp(project.mcpServers, { logger, version }),
    tools: project.tools,
    concurrency: settings.concurrency,
    oauthIssuers: settings.oauthIssuer,
    oauthAudience: settings.oauthAudience ?? null,
    authFailuresMax: settings.authFailures,
    requestsPerMinute: settings.rateLimit === "off" ? null : settings.rateLimit,
    trustedProxies: settings.trustProxy,
    allowedHosts: settings.allowedHosts,
    corsOrigins: settings.corsOrigin,
    artifactBytesMax: settings.artifactBytesMax,
    stalledClientMs: settings.stalledClientMs,
    diskFloor: settings.diskFloor,
    workspaceRoots: settings.workspaceRoots.map((directory) => resolve(directory)),
    masterKeys,
    operatorSecrets: {
      envPrefix: settings.vaultEnvPrefix ?? null,
      directory: settings.vaultFiles === undefined ? null : resolve(settings.vaultFiles),
    },
    enforcer: {
      id: settings.enforcerId,
      label: settings.enforcerLabel,
      remoteGateway:
        settings.gateway === undefined || gatewayKey === null
          ? null
          : { url: settings.gateway, key: gatewayKey },
      keyWaitMs: settings.approverWaitHours * hourMs,
    },
    allowPrivateAddresses: settings.allowPrivateAddresses,
    blockedRanges: settings.blockedRanges,
    keyMs: settings.keyDays === "never" ? null : settings.keyDays * dayMs,
    retainMs: settings.retainDays === undefined ? null : settings.retainDays * dayMs,
    openHarness: { ...defaultConfig.openHarness, waitMs: settings.openharnessWaitMs },
    opvsLenientVersion: settings.opvsLenientVersion,
    gateway: gatewaySettingsOf(settings),
    metrics: settings.metrics,
  };
}
