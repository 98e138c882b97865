/** Builds everything, in the order in which it depends on each other, and takes it down in reverse. */

import { join } from "node:path";
import { builtInAgents, builtInAgentsForOthers } from "../agents/index.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { createModels } from "../models/providers.ts";
import type { AdminKeyHolder } from "../policy/admin-key.ts";
import type { Agent } from "../runtime/agents/agent.ts";
import { AgentRegistry } from "../runtime/agents/registry.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { CertificateWatch } from "../surfaces/certificate-watch.ts";
import { isLoopbackHost } from "../surfaces/loopback.ts";
import { grpcAddressOf } from "../surfaces/opvs/cards/interfaces.ts";
import type { ServerFacts } from "../surfaces/server-facts.ts";
import { requireSafeExposure } from "../surfaces/tls.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import { storeFaultLog } from "../telemetry/store-faults.ts";
import { openTraces } from "../telemetry/traces/traces.ts";
import { builtInTools } from "../tools/builtin/index.ts";
import { version } from "../version.ts";
import { buildKernel } from "./build-kernel.ts";
import { defaultConfig, type ServerConfig } from "./config.ts";
import { Lifetime } from "./lifetime.ts";
import { createLogger } from "./logger.ts";
import { openSurfaces } from "./open-surfaces.ts";
import { prepare, prepareAgents } from "./prepare.ts";
import { keepAddress } from "./server-address.ts";
import { startWork, tellWebhooks } from "./start-work.ts";
import { openStores, type Stores, type WatchOf } from "./stores.ts";

export interface Server {
  url: string;
  /** Where gRPC is spoken, if it is. */
  grpcUrl: string | null;
  /** Where the gateway is alone, if it is; it is always at /harp as well. */
  harpUrl: string | null;
  adminKey: AdminKeyHolder;
  kernel: Kernel;
  /** Resolves with the reason when a store takes no writes in this process any more. Stop the server then. */
  failed: Promise<string>;
  /** Reloads certificates that were read from files; null when there are none. */
  certificates: CertificateWatch | null;
  /**
   * From here on these are the agents, beside the built-in ones, and new tasks get their code; open tasks go on with what they
   * started with. Only for servers that were told that agents may change.
   */
  replaceAgents(agents: readonly Agent[]): Promise<void>;
  /** An address that signs a browser in to the console, once; null while the administrator's key is disabled. */
  signInLink(): string | null;
  /** Takes no new work, lets running steps finish within the grace period, and closes the log. */
  stop(graceMs: number): Promise<{ interrupted: number }>;
}

export async function startServer(settings: Partial<ServerConfig> = {}): Promise<Server> {
  const config: ServerConfig = {
    ...defaultConfig,
    logger: createLogger("warn", settings.apiKey == null ? [] : [settings.apiKey]),
    models: createModels(),
    ...settings,
  };
  requireSafeExposure(config);
  const { logger, dataDirectory } = config;
  await using built = new AsyncDisposableStack();
  const lifetime = new Lifetime(built);
  const failed = Promise.withResolvers<string>();

  const builtIn = builtInAgentsFor(config);
  const agents = new AgentRegistry([...builtIn, ...config.agents]);
  const metrics = await metricsFor(config);
  const watch: WatchOf = (name) => ({
    ...metrics?.store(name),
    faultChanged: storeFaultLog(logger, name),
    stopped: failed.resolve,
  });
  const stores = await openStores(config, watch, built);
  const traces = await openTraces({ env: process.env, logger, version });
  const parts = await buildKernel(config, { stores, agents, metrics, traces, built });
  const { kernel, adminKey } = parts;
  const tools = [...builtInTools, ...config.tools];
  metrics?.follow(kernel, { tools: tools.map(({ name }) => name), mcpServers: config.mcp.servers });
  built.defer(() => kernel.receipts.close(lifetime.leftMs));
  const stopTraces = await traces?.follow(kernel, join(dataDirectory, "traces.json"));
  built.defer(async () => await stopTraces?.(lifetime.leftMs));
  const tenant = await prepare(parts, config);

  const listening: { url: string; grpcUrl: string | null } = { url: "", grpcUrl: null };
  const facts = factsOf(config, stores, tenant.created_at, lifetime, listening);
  const surfaces = await openSurfaces(config, {
    ...{ ...parts, stores, facts, metrics, lifetime },
    load: () => runtime.load,
  });
  const drained = { interrupted: 0 };
  const runtime: Runtime = await startWork(config, { kernel, agents, tools, lifetime }, (result) =>
    Object.assign(drained, result),
  );
  const { certificates, ...addresses } = await surfaces.listen();
  Object.assign(listening, addresses);
  built.defer(keepAddress(dataDirectory, addresses.url));
  await tellWebhooks(config, kernel, facts.url, lifetime);

  // From here on it is the caller who takes it down, in reverse order of how it was built.
  const running = built.move();
  return {
    ...addresses,
    adminKey,
    kernel,
    failed: failed.promise,
    certificates,
    async replaceAgents(given) {
      if (!config.agentsMayChange)
        throw new Error("The agents of this server are fixed: set agentsMayChange.");
      agents.replace([...builtIn, ...given]);
      await prepareAgents(kernel);
    },
    signInLink: () => (adminKey.isDisabled ? null : `${facts.url()}/#login=${surfaces.links.create()}`),
    async stop(graceMs) {
      lifetime.beginStop(graceMs);
      await running.disposeAsync();
      return drained;
    },
  };
}

/** `listening` is filled in once the server listens. */
function factsOf(
  config: ServerConfig,
  { log, gateway }: Stores,
  createdAt: string,
  lifetime: Lifetime,
  listening: { url: string; grpcUrl: string | null },
): ServerFacts {
  const url = () => config.publicUrl ?? listening.url;
  return {
    version,
    createdAt,
    url,
    grpcAddress: () =>
      listening.grpcUrl === null ? null : (config.publicGrpcUrl ?? grpcAddressOf(url(), listening.grpcUrl)),
    credentials: {
      mutualTls: config.tls?.clientCa !== undefined,
      issuers: config.oauthIssuers.map(({ issuer }) => issuer),
    },
    gatewayUrl: () => config.enforcer.remoteGateway?.url ?? `${url()}/harp`,
    isStopping: () => lifetime.isStopping,
    writeFault: () => log.writeFault() ?? gateway.writeFault(),
    readFault: () => log.readFault() ?? gateway.readFault(),
    isDiskLow: () => log.shortage() !== null,
  };
}

/** A proxy in front makes a server that listens on loopback one that others reach. */
function builtInAgentsFor(config: ServerConfig): readonly Agent[] {
  const isAlone = isLoopbackHost(config.host) && config.trustedProxies.length === 0;
  const hasAll = config.builtInAgents === "on" || (config.builtInAgents === "auto" && isAlone);
  return hasAll ? builtInAgents : builtInAgentsForOthers;
}

/** Loaded only where something is counted: it takes a while. */
async function metricsFor({ metrics, logger }: ServerConfig): Promise<Metrics | null> {
  if (metrics === "off") return null;
  const { createMetrics } = await import("../telemetry/metrics/metrics.ts");
  return createMetrics({ logger, version });
}
