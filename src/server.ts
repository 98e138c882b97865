/** Builds everything, in the order in which it depends on each other, and takes it down in reverse. */

import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { builtInAgents } from "./agents/index.ts";
import { defaultConfig, type ServerConfig } from "./config.ts";
import { WorkspaceFiles } from "./files/workspace-files.ts";
import { systemClock, timestamp } from "./kernel/clock.ts";
import { defaultTenantId, ensureTenant } from "./kernel/commands/ensure-tenant.ts";
import { settleMasterKey } from "./kernel/commands/rotate-master-key.ts";
import { ensureSigningKey } from "./kernel/commands/signing-keys.ts";
import { createKernel, type Kernel } from "./kernel/kernel.ts";
import { Issuer } from "./kernel/signing.ts";
import { createLogger } from "./logger.ts";
import { type AdminKey, loadAdminKey } from "./policy/admin-key.ts";
import { systemCaller } from "./policy/caller.ts";
import { MasterKeys } from "./policy/master-keys.ts";
import { keepSigningKey, loadSigningKey } from "./policy/signing-key.ts";
import { AgentRegistry } from "./runtime/registry.ts";
import { startRuntime } from "./runtime/runtime.ts";
import { startScheduleClock } from "./runtime/schedule-clock.ts";
import { openSqliteStore } from "./store/sqlite/open.ts";
import { harn, harnFail } from "./surfaces/harn/surface.ts";
import { createHttp } from "./surfaces/http.ts";
import { version } from "./version.ts";

const closeMsMax = 1000;

export interface Server {
  url: string;
  adminKey: AdminKey;
  kernel: Kernel;
  /** Takes no new work, lets running steps finish within the grace period, and closes the log. */
  stop(graceMs: number): Promise<{ interrupted: number }>;
}

export async function startServer(settings: Partial<ServerConfig> = {}): Promise<Server> {
  const config: ServerConfig = {
    ...defaultConfig,
    logger: createLogger("warn", settings.apiKey == null ? [] : [settings.apiKey]),
    ...settings,
  };
  const { logger, dataDirectory } = config;
  await using built = new AsyncDisposableStack();

  const agents = new AgentRegistry([...builtInAgents, ...config.agents]);
  const store = await openSqliteStore(dataDirectory);
  built.defer(() => store.close());
  const adminKey = loadAdminKey(join(dataDirectory, "admin.key"), config.apiKey);
  const keyFile = join(dataDirectory, "signing.key");
  const issuer = new Issuer(loadSigningKey(keyFile), (pem) => keepSigningKey(keyFile, pem));
  const masterKeys = new MasterKeys({ file: join(dataDirectory, "master.key"), fixed: config.masterKeys });
  const files = new WorkspaceFiles({
    directory: join(dataDirectory, "workspaces"),
    allowedRoots: config.workspaceRoots,
    guarded: dataDirectory,
  });
  const kernel = createKernel({
    store,
    clock: systemClock,
    agents,
    adminKey: adminKey.key,
    issuer,
    masterKeys,
    files,
  });
  built.defer(() => kernel.tail.close());
  const system = systemCaller(defaultTenantId);
  await kernel.dispatch(ensureTenant, system, { tenantId: defaultTenantId });
  const { result: signingKey } = await kernel.dispatch(ensureSigningKey, system, { key: issuer.key });
  issuer.adopt(signingKey.issuer_id);
  warnAboutLocked(logger, masterKeys, await settleMasterKey(kernel));

  let stopping = false;
  const listening = { url: "" };
  const stopped = new AbortController();
  const facts = {
    version,
    startedAt: timestamp(systemClock.now()),
    url: () => config.publicUrl ?? listening.url,
    state: () => (stopping ? "draining" : store.isWritable() ? "ready" : "store_unavailable"),
  };
  const fail = harnFail(logger, kernel.redactor);
  const newRequestId = () => kernel.newId("req");
  const http = createHttp({ logger, bodyBytesMax: config.bodyBytesMax, newRequestId, fail });
  const { artifactBytesMax } = config;
  await http.register(harn({ kernel, facts, fail, stopped: stopped.signal, artifactBytesMax }));
  built.defer(() => closeHttp(http));
  built.defer(() => stopped.abort());

  const runtime = await startRuntime({ kernel, agents, logger, concurrency: config.concurrency });
  let graceMs = 0;
  const drained = { interrupted: 0 };
  built.defer(async () => {
    Object.assign(drained, await runtime.drain(graceMs));
  });
  built.defer(startScheduleClock(kernel, logger));
  const url = await http.listen({ host: config.host, port: config.port });
  listening.url = url;

  // From here on it is the caller who takes it down, in reverse order of how it was built.
  const running = built.move();
  return {
    url,
    adminKey,
    kernel,
    async stop(grace) {
      stopping = true;
      graceMs = grace;
      await running.disposeAsync();
      return drained;
    },
  };
}

/** What cannot be opened is an operator's to put right; everything else works without it. */
function warnAboutLocked(logger: Logger, { problem }: MasterKeys, locked: readonly string[]): void {
  if (problem === null && locked.length === 0) return;
  const about = { master_key: problem ?? undefined, locked_vaults: locked.slice(0, 10) };
  logger.warn(about, "secrets cannot be read: the master key is not the one that vaults are locked with");
}

/** Open requests are answered first; a client that does not take its answer is not waited for long. */
async function closeHttp(http: FastifyInstance): Promise<void> {
  const impatience = setTimeout(() => http.server.closeAllConnections(), closeMsMax);
  await http.close();
  clearTimeout(impatience);
}
