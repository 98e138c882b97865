/** Builds everything, in the order in which it depends on each other, and takes it down in reverse. */

import { join } from "node:path";
import type { Logger } from "pino";
import { builtInAgents, builtInAgentsForOthers } from "../agents/index.ts";
import { moveToTenants } from "../files/tenant-directories.ts";
import { WorkspaceFiles } from "../files/workspace-files.ts";
import { startGateway } from "../harp/gateway/start.ts";
import { noteRetentionSetting } from "../kernel/audit/retention-setting.ts";
import { systemClock } from "../kernel/core/clock.ts";
import { createIds } from "../kernel/core/ids.ts";
import { createKernel, type Kernel, type KernelOptions } from "../kernel/kernel.ts";
import { ensurePersona } from "../kernel/personas/ensure-persona.ts";
import { Issuer } from "../kernel/receipts/signing.ts";
import { ensureSigningKey } from "../kernel/receipts/signing-keys.ts";
import { settleMasterKey } from "../kernel/vaults/rewrap.ts";
import { ensurePublicWorkspace } from "../kernel/workspaces/ensure-public-workspace.ts";
import { defaultTenantId, ensureTenant } from "../kernel/workspaces/ensure-tenant.ts";
import { createModels } from "../models/providers.ts";
import { consoleFolder } from "../package-files.ts";
import { AdminKeyHolder, loadAdminKey } from "../policy/admin-key.ts";
import { systemCaller } from "../policy/caller.ts";
import { ExternalIssuers } from "../policy/external-issuers.ts";
import { FailureLog } from "../policy/failure-log.ts";
import { MasterKeys } from "../policy/master-keys.ts";
import { createOutbound } from "../policy/outbound.ts";
import { keepSigningKey, loadSigningKey } from "../policy/signing-key.ts";
import type { Agent } from "../runtime/agents/agent.ts";
import { AgentRegistry } from "../runtime/agents/registry.ts";
import { startEnforcer } from "../runtime/approvals/enforcer.ts";
import { followHandoffs } from "../runtime/handoff/handoff-worker.ts";
import { startRuntime } from "../runtime/runtime.ts";
import { startExpirySweeper } from "../runtime/scheduler/expiry-sweeper.ts";
import { startHousekeeping } from "../runtime/scheduler/housekeeping.ts";
import { startScheduleClock } from "../runtime/scheduler/schedule-clock.ts";
import { startWebhooks } from "../runtime/webhooks/webhooks.ts";
import { failPoint } from "../store/fail-point.ts";
import { harpPath } from "../surfaces/addresses.ts";
import { type CertificateWatch, watchCertificates } from "../surfaces/certificate-watch.ts";
import { ConsoleAssets } from "../surfaces/console/assets.ts";
import { ConsoleSessions } from "../surfaces/console/sessions.ts";
import { SignInLinks } from "../surfaces/console/sign-in-links.ts";
import { admitSessions, consoleSurface } from "../surfaces/console/surface.ts";
import { subprotocol } from "../surfaces/credentials.ts";
import { harn, harnFail, harnReport } from "../surfaces/harn/surface.ts";
import { createHarpHttp, harpBinding } from "../surfaces/harp/binding.ts";
import { harp, harpFail, isHarpAddress } from "../surfaces/harp/surface.ts";
import { closeHttp, createHttp } from "../surfaces/http.ts";
import { isLoopbackHost } from "../surfaces/loopback.ts";
import { failMcp } from "../surfaces/mcp/errors.ts";
import { isMcpAddress, mcp } from "../surfaces/mcp/surface.ts";
import { oauth } from "../surfaces/oauth/surface.ts";
import { Engine } from "../surfaces/openharness/engine.ts";
import { failOpenHarness, isOpenHarnessAddress, openHarness } from "../surfaces/openharness/surface.ts";
import { grpcAddressOf } from "../surfaces/opvs/cards/interfaces.ts";
import { cards, frontDoorCard } from "../surfaces/opvs/cards/routes.ts";
import type { Grpc, GrpcOptions } from "../surfaces/opvs/grpc/server.ts";
import { notificationShapes, notifications } from "../surfaces/opvs/notifications.ts";
import { Opvs } from "../surfaces/opvs/opvs.ts";
import { failOpvs, isOpvsAddress, opvsHttp } from "../surfaces/opvs/surface.ts";
import { isReady, readRefusalOf, type ServerFacts } from "../surfaces/server-facts.ts";
import { requireSafeExposure } from "../surfaces/tls.ts";
import { WebSockets } from "../surfaces/websocket.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import { storeFaultLog } from "../telemetry/store-faults.ts";
import { openTraces } from "../telemetry/traces/traces.ts";
import { builtInTools } from "../tools/builtin/index.ts";
import { version } from "../version.ts";
import { openApprovalAccess } from "./approval-access.ts";
import { defaultConfig, type ServerConfig } from "./config.ts";
import { createLogger } from "./logger.ts";
import { ReceiptThread } from "./receipts-thread.ts";
import { RedactionThread } from "./redaction-thread.ts";
import { keepAddress } from "./server-address.ts";
import { openStores, type WatchOf } from "./stores.ts";

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

  const builtIn = builtInAgentsFor(config);
  const agents = new AgentRegistry([...builtIn, ...config.agents]);
  const metrics = await metricsFor(config);
  const failed = Promise.withResolvers<string>();
  const watch: WatchOf = (name) => ({
    ...metrics?.store(name),
    faultChanged: storeFaultLog(logger, name),
    stopped: failed.resolve,
  });
  const { log: store, gateway: gatewayStore } = await openStores(config, watch, built);
  const adminKey = new AdminKeyHolder(loadAdminKey(join(dataDirectory, "admin.key"), config.apiKey));
  const keyFile = join(dataDirectory, "signing.key");
  const issuer = new Issuer(loadSigningKey(keyFile), (pem) => keepSigningKey(keyFile, pem));
  const { helloMs, ticketMs } = config.webSocket;
  const masterKeys = new MasterKeys({ file: join(dataDirectory, "master.key"), fixed: config.masterKeys });
  const workspacesDirectory = join(dataDirectory, "workspaces");
  const tenantOf = async (id: string) => (await store.get("workspace", id))?.tenantId;
  const stuck = await moveToTenants(workspacesDirectory, tenantOf);
  if (stuck.length > 0) logger.warn({ event: "files.not_moved", workspaces: stuck }, filesNotMoved);
  const files = new WorkspaceFiles({
    directory: workspacesDirectory,
    allowedRoots: config.workspaceRoots,
    guarded: dataDirectory,
    beforeWrite: () => failPoint("file.write"),
  });
  const { retainMs } = config;
  const { gateway } = built.use(
    startGateway({
      store: gatewayStore,
      now: () => systemClock.now(),
      newId: createIds(() => systemClock.now()),
      settings: config.gateway,
      logger,
    }),
  );
  const traces = await openTraces({ env: process.env, logger, version });
  const approvals = await openApprovalAccess(config.enforcer, { dataDirectory, gateway });
  const authFailures = new FailureLog((report) =>
    logger.warn({ event: "auth.failed", ...report }, "Invalid credentials were presented"),
  );
  const receiptThread: KernelOptions["makeReceipts"] = (hooks, commit) =>
    new ReceiptThread({ ...hooks, commit, issuer, directory: dataDirectory });
  const redaction = new RedactionThread((error) =>
    logger.error(
      { event: "redaction.failed", err: error },
      "The thread that searches long texts for secrets failed",
    ),
  );
  built.defer(() => redaction.close());
  const kernel = createKernel({
    store,
    clock: systemClock,
    agents,
    adminKey,
    issuer,
    publicUrl: config.publicUrl,
    external: externalIssuers(config),
    authFailuresMax: config.authFailuresMax,
    onAuthFailure({ from, reason }) {
      authFailures.note(from);
      metrics?.authFailed(reason);
    },
    ticketMs,
    masterKeys,
    files,
    outbound: createOutbound({
      allowPrivate: config.allowPrivateAddresses,
      blockedRanges: config.blockedRanges,
    }),
    retainMs,
    defaultPersonas: config.defaultPersonas,
    defaultAgent: knownAgent(agents, config.defaultAgent),
    keyMs: config.keyMs,
    heldMs: config.openHarness.heldMs,
    approvals,
    tracing: traces,
    ...(config.receiptsThread && config.databaseUrl === null ? { makeReceipts: receiptThread } : {}),
    searchTexts: redaction.search,
    onReceiptError: (error) =>
      logger.error({ event: "receipts.failed", err: error }, "Receipts were not issued"),
  });
  built.defer(() => kernel.tail.close());
  built.defer(() => kernel.keyUse.flush());
  built.defer(() => kernel.failedSignIns.close());
  const tools = [...builtInTools, ...config.tools];
  metrics?.follow(kernel, { tools: tools.map(({ name }) => name), mcpServers: config.mcp.servers });
  let stopBy = 0;
  built.defer(() => kernel.receipts.close(Math.max(0, stopBy - systemClock.now())));
  const stopTraces = await traces?.follow(kernel, join(dataDirectory, "traces.json"));
  built.defer(async () => await stopTraces?.(Math.max(0, stopBy - systemClock.now())));
  const system = systemCaller(defaultTenantId);
  const { result: tenant } = await kernel.dispatch(ensureTenant, system, { tenantId: defaultTenantId });
  adminKey.setDisabled(tenant.admin_key_disabled_at != null);
  const { result: signingKey } = await kernel.dispatch(ensureSigningKey, system, { key: issuer.key });
  issuer.adopt(signingKey.issuer_id);
  await kernel.receipts.start();
  await preparePublicTenants(kernel);
  for (const persona of config.personas) await kernel.dispatch(ensurePersona, system, persona);
  await noteRetentionSetting(kernel);
  warnAboutLocked(logger, masterKeys, await settleMasterKey(kernel));

  let stopping = false;
  const listening: { url: string; grpcUrl: string | null } = { url: "", grpcUrl: null };
  const stopped = new AbortController();
  const facts: ServerFacts = {
    version,
    createdAt: tenant.created_at,
    url: () => config.publicUrl ?? listening.url,
    grpcAddress: () =>
      listening.grpcUrl === null
        ? null
        : (config.publicGrpcUrl ?? grpcAddressOf(facts.url(), listening.grpcUrl)),
    credentials: {
      mutualTls: config.tls?.clientCa !== undefined,
      issuers: config.oauthIssuers.map(({ issuer }) => issuer),
    },
    gatewayUrl: () => config.enforcer.remoteGateway?.url ?? `${facts.url()}/harp`,
    isStopping: () => stopping,
    writeFault: () => store.writeFault() ?? gatewayStore.writeFault(),
    readFault: () => store.readFault() ?? gatewayStore.readFault(),
    isDiskLow: () => store.shortage() !== null,
  };
  const report = harnReport(logger, kernel.redactor);
  const newRequestId = () => kernel.newId("req");
  const { bodyBytesMax, trustedProxies, corsOrigins, artifactBytesMax, heartbeatMs } = config;
  const { tls } = config;
  const isHttps = config.publicUrl?.startsWith("https:") ?? tls !== null;
  const fail = harnFail(report);
  const opvs = new Opvs({
    kernel,
    facts,
    logger,
    stopped: stopped.signal,
    isLenient: config.opvsLenientVersion,
    anonymousMs: config.anonymousMs,
  });
  const engine = new Engine({ kernel, facts, logger, stopped: stopped.signal, ...config.openHarness });
  const isMutualTls = tls?.clientCa !== undefined;
  const binding = harpBinding({
    gateway,
    kernel,
    facts,
    logger,
    isEnforcer: true,
    isMutualTls,
    stopped: stopped.signal,
  });
  const failHarp = harpFail(binding);
  const mcpOptions = { kernel, facts, logger, heartbeatMs, stopped: stopped.signal };
  const { host, publicUrl, allowedHosts } = config;
  const limits = { bodyBytesMax, trustedProxies, host, publicUrl, allowedHosts, corsOrigins };
  const { stalledClientMs } = config;
  const httpOptions = {
    logger,
    ...limits,
    stalledClientMs,
    newRequestId,
    tls,
    isHttps,
    readRefusal: () => readRefusalOf(facts),
    watch: metrics?.http ?? null,
  };
  const http = createHttp({
    ...httpOptions,
    fail(error, request, reply) {
      if (isHarpAddress(request)) return failHarp(error, request, reply);
      if (isOpenHarnessAddress(request)) return failOpenHarness(engine, error, reply);
      if (isMcpAddress(request)) return failMcp(mcpOptions, error, reply);
      return isOpvsAddress(request) ? failOpvs(opvs, error, request, reply) : fail(error, request, reply);
    },
  });
  const now = () => systemClock.now();
  const sessions = new ConsoleSessions({ file: join(dataDirectory, "console-sessions.json"), now });
  const links = new SignInLinks(now);
  admitSessions(http, sessions);
  const sockets = new WebSockets({
    payloadBytesMax: bodyBytesMax,
    heartbeatMs,
    protocol: subprotocol,
    stopped: stopped.signal,
  });
  const metricsPage =
    metrics?.page({
      isReady: () => isReady(facts),
      load: () => runtime.load,
      runsMax: config.concurrency,
      openWebSockets: () => sockets.openCount + binding.sockets.openCount,
      logPosition: () => store.head(),
      dataDirectory,
      stores: {
        log: { directory: dataDirectory, writeFault: () => store.writeFault() },
        gateway: { directory: join(dataDirectory, "gateway"), writeFault: () => gatewayStore.writeFault() },
      },
    }) ?? null;
  await http.register(
    harn({
      ...{ kernel, facts, report, sockets, helloMs, heartbeatMs, artifactBytesMax },
      stopped: stopped.signal,
      a2aCard: () => frontDoorCard({ kernel, facts }),
      metrics: metricsPage === null ? null : { ...metricsPage, isOpen: config.metrics === "open" },
    }),
  );
  await http.register(opvsHttp(opvs, { heartbeatMs, stopped: stopped.signal }));
  await http.register(openHarness({ engine, kernel, facts, sockets, heartbeatMs, stopped: stopped.signal }));
  await http.register(mcp(mcpOptions));
  await http.register(oauth({ kernel, url: facts.url, logger }));
  await http.register(cards(opvs, { kernel, facts }));
  await http.register(harp(binding), { prefix: harpPath });
  await http.register(
    consoleSurface({
      ...{ kernel, adminKey, sessions, links, version, isHttps },
      assets: new ConsoleAssets(consoleFolder),
    }),
  );
  const harpHttp = config.harpPort === null ? null : await createHarpHttp(binding, httpOptions);
  const grpc = await grpcFor(config, {
    opvs,
    newRequestId,
    isReady: () => isReady(facts),
    stopped: stopped.signal,
    watch: metrics?.grpc ?? null,
  });
  built.defer(async () => {
    await Promise.all([closeHttp(http), harpHttp === null ? null : closeHttp(harpHttp), grpc?.close()]);
  });
  built.defer(() => stopped.abort());

  built.defer(() => config.mcp.close());
  const runtime = await startRuntime({
    kernel,
    world: { models: config.models, mcp: config.mcp, tools },
    agents,
    logger,
    concurrency: config.concurrency,
    keepsStartedCode: config.agentsMayChange,
  });
  built.defer(startExpirySweeper({ kernel, logger }));
  let graceMs = 0;
  const drained = { interrupted: 0 };
  built.defer(async () => {
    Object.assign(drained, await runtime.drain(graceMs));
  });
  built.defer(startScheduleClock(kernel, logger));
  built.defer(followHandoffs({ kernel, logger }));
  built.defer(await startEnforcer({ kernel, logger }));
  built.defer(startHousekeeping(kernel, logger));
  const grpcUrl = (await grpc?.listen()) ?? null;
  const harpUrl = (await harpHttp?.listen({ host: config.host, port: config.harpPort ?? 0 })) ?? null;
  const url = await http.listen({ host: config.host, port: config.port });
  const certificates = built.use(
    watchCertificates(tls, [http.server, harpHttp?.server, grpc?.server], logger),
  );
  Object.assign(listening, { url, grpcUrl });
  built.defer(keepAddress(dataDirectory, url));
  built.defer(
    await startWebhooks({
      kernel,
      logger,
      publicUrl: facts.url,
      narrative: notifications({ kernel, publicUrl: facts.url, shapes: notificationShapes }),
      backoff: config.webhookBackoff,
    }),
  );

  // From here on it is the caller who takes it down, in reverse order of how it was built.
  const running = built.move();
  return {
    url,
    grpcUrl,
    harpUrl,
    adminKey,
    kernel,
    failed: failed.promise,
    certificates,
    async replaceAgents(given) {
      if (!config.agentsMayChange)
        throw new Error("The agents of this server are fixed: set agentsMayChange.");
      agents.replace([...builtIn, ...given]);
      await kernel.dispatch(ensureTenant, system, { tenantId: defaultTenantId });
      await preparePublicTenants(kernel);
    },
    signInLink: () => (adminKey.isDisabled ? null : `${facts.url()}/#login=${links.create()}`),
    async stop(grace) {
      stopping = true;
      graceMs = grace;
      stopBy = systemClock.now() + grace;
      await running.disposeAsync();
      return drained;
    },
  };
}

const filesNotMoved =
  "Files of workspaces could not be moved into the directories of their tenants; move <data>/workspaces/<workspace> to <data>/workspaces/<tenant>/<workspace>";

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

type GrpcParts = Pick<GrpcOptions, "opvs" | "newRequestId" | "isReady" | "stopped" | "watch">;

async function grpcFor(config: ServerConfig, parts: GrpcParts): Promise<Grpc | null> {
  const { grpcPort } = config;
  if (grpcPort === null) return null;
  // What speaks it is large; a server that does not need not load it.
  const { createGrpc } = await import("../surfaces/opvs/grpc/server.ts");
  return createGrpc({ ...config, ...parts, port: grpcPort });
}

/** Where the work of anonymous callers goes: nothing is made for servers that have no public agent. */
async function preparePublicTenants(kernel: Kernel): Promise<void> {
  const tenantIds = new Set(kernel.agents.list().flatMap(({ card }) => card.public?.tenantId ?? []));
  for (const tenantId of tenantIds) {
    await kernel.dispatch(ensureTenant, systemCaller(tenantId), { tenantId });
    await kernel.dispatch(ensurePublicWorkspace, systemCaller(tenantId), {});
  }
}

function knownAgent(agents: AgentRegistry, name: string): string {
  if (agents.find(name) !== undefined) return name;
  throw new Error(`The default agent ${JSON.stringify(name)} is not loaded.`);
}

/** An audience is what keeps a token that was made for others from being good here, so there must be one. */
function externalIssuers({
  oauthIssuers,
  oauthAudience,
  publicUrl,
  logger,
}: ServerConfig): ExternalIssuers | null {
  if (oauthIssuers.length === 0) return null;
  const audience = oauthAudience ?? publicUrl;
  if (audience === null)
    throw new Error("Tokens of other issuers need an audience: set one, or a public URL.");
  return new ExternalIssuers(oauthIssuers, {
    audience,
    onKeysUnavailable: (issuer, error) =>
      logger.warn(
        { event: "oauth.jwks_unavailable", issuer, err: error },
        "Cannot fetch the JWKS of a token issuer",
      ),
  });
}

/** What cannot be opened is an operator's to put right; everything else works without it. */
function warnAboutLocked(logger: Logger, { problem }: MasterKeys, locked: readonly string[]): void {
  if (problem === null && locked.length === 0) return;
  const about = {
    event: "vault.master_key_wrong",
    master_key: problem ?? undefined,
    locked: locked.slice(0, 10),
  };
  logger.warn(about, "Secrets cannot be read: the vaults are encrypted with another master key");
}
