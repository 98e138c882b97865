/** The gateway alone: its store, and beside it just enough of a kernel to know who calls. */

import { join } from "node:path";
import type { Logger } from "pino";
import type { Gateway } from "../harp/gateway/gateway.ts";
import type { GatewaySettings } from "../harp/gateway/settings.ts";
import { startGateway } from "../harp/gateway/start.ts";
import { systemClock } from "../kernel/core/clock.ts";
import { createKernel } from "../kernel/kernel.ts";
import { Issuer } from "../kernel/receipts/signing.ts";
import { ensureSigningKey } from "../kernel/receipts/signing-keys.ts";
import { defaultTenantId, ensureTenant } from "../kernel/workspaces/ensure-tenant.ts";
import { AdminKeyHolder, loadAdminKey } from "../policy/admin-key.ts";
import { systemCaller } from "../policy/caller.ts";
import { keepSigningKey, loadSigningKey } from "../policy/signing-key.ts";
import { AgentRegistry } from "../runtime/agents/registry.ts";
import { openSqliteStore } from "../store/sqlite/open.ts";
import type { WholeStore } from "../store/whole-store.ts";
import { type CertificateWatch, watchCertificates } from "../surfaces/certificate-watch.ts";
import { harnKeys, harnReport } from "../surfaces/harn/surface.ts";
import { createHarpHttp, harpBinding } from "../surfaces/harp/binding.ts";
import { closeHttp } from "../surfaces/http.ts";
import type { ServerFacts } from "../surfaces/server-facts.ts";
import { requireSafeExposure, type Tls } from "../surfaces/tls.ts";
import { version } from "../version.ts";

export interface GatewayConfig {
  host: string;
  /** 0 lets the system choose. */
  port: number;
  tls: Tls | null;
  /** Accepts plain HTTP on addresses that other machines reach, with no trusted proxy in front. */
  insecureHttp: boolean;
  dataDirectory: string;
  /** A fixed administrator key; without one, a key is made on first start and kept in the data directory. */
  apiKey: string | null;
  authFailuresMax: number;
  trustedProxies: readonly string[];
  /** Further names under which clients reach the gateway. */
  allowedHosts: readonly string[];
  settings: GatewaySettings;
  logger: Logger;
}

export interface GatewayServer {
  url: string;
  adminKey: AdminKeyHolder;
  gateway: Gateway;
  /** Resolves with the reason when a store takes no writes in this process any more. Stop the server then. */
  failed: Promise<string>;
  certificates: CertificateWatch | null;
  stop(): Promise<void>;
}

/** What is read of a body before a route of its own says otherwise. */
const bodyBytesMax = 1024 * 1024;

export async function startGatewayServer(config: GatewayConfig): Promise<GatewayServer> {
  requireSafeExposure(config);
  const { dataDirectory, logger, tls, trustedProxies } = config;
  await using built = new AsyncDisposableStack();
  const failed = Promise.withResolvers<string>();
  const watch = { stopped: failed.resolve };
  const store = await openSqliteStore(dataDirectory, watch);
  built.defer(() => store.close());
  const { kernel, adminKey, tenant } = await startKernel(config, store);
  built.defer(() => kernel.tail.close());

  const gatewayStore = await openSqliteStore(join(dataDirectory, "gateway"), watch);
  built.defer(() => gatewayStore.close());
  const { gateway } = built.use(
    startGateway({
      store: gatewayStore,
      now: () => systemClock.now(),
      newId: kernel.newId,
      settings: config.settings,
      logger,
    }),
  );

  let stopping = false;
  const listening = { url: "" };
  const stopped = new AbortController();
  const facts: ServerFacts = {
    version,
    createdAt: tenant.created_at,
    url: () => listening.url,
    grpcAddress: () => null,
    gatewayUrl: () => facts.url(),
    credentials: { mutualTls: tls?.clientCa !== undefined, issuers: [] },
    isStopping: () => stopping,
    writeFault: () => store.writeFault() ?? gatewayStore.writeFault(),
    readFault: () => null,
    isDiskLow: () => false,
  };
  const isMutualTls = tls?.clientCa !== undefined;
  const binding = harpBinding({
    ...{ gateway, kernel, facts, logger, isMutualTls },
    isEnforcer: false,
    stopped: stopped.signal,
  });
  const http = await createHarpHttp(binding, {
    ...{ logger, bodyBytesMax, trustedProxies, tls },
    newRequestId: () => kernel.newId("req"),
    host: config.host,
    publicUrl: null,
    allowedHosts: config.allowedHosts,
    corsOrigins: [],
    isHttps: tls !== null,
    readRefusal: () => null,
  });
  await http.register(harnKeys({ kernel, facts, report: harnReport(logger, kernel.redactor) }));
  built.defer(() => closeHttp(http));
  built.defer(() => stopped.abort());
  listening.url = await http.listen({ host: config.host, port: config.port });
  const certificates = built.use(watchCertificates(tls, [http.server], logger));

  const running = built.move();
  return {
    url: listening.url,
    adminKey,
    gateway,
    failed: failed.promise,
    certificates,
    async stop() {
      stopping = true;
      await running.disposeAsync();
    },
  };
}

/** Just enough of a kernel to know who calls. */
async function startKernel(config: GatewayConfig, store: WholeStore) {
  const { dataDirectory, authFailuresMax } = config;
  const adminKey = new AdminKeyHolder(loadAdminKey(join(dataDirectory, "admin.key"), config.apiKey));
  const keyFile = join(dataDirectory, "signing.key");
  const issuer = new Issuer(loadSigningKey(keyFile), (pem) => keepSigningKey(keyFile, pem));
  const agents = new AgentRegistry([]);
  const kernel = createKernel({
    ...{ store, agents, issuer, authFailuresMax },
    clock: systemClock,
    adminKey,
  });
  const system = systemCaller(defaultTenantId);
  const { result: tenant } = await kernel.dispatch(ensureTenant, system, { tenantId: defaultTenantId });
  adminKey.setDisabled(tenant.admin_key_disabled_at != null);
  const { result: signingKey } = await kernel.dispatch(ensureSigningKey, system, { key: issuer.key });
  issuer.adopt(signingKey.issuer_id);
  return { kernel, adminKey, tenant };
}
