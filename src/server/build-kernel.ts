/** The kernel of a server with all that it rests on: keys, files, the gateway, the threads beside it. */

import { join } from "node:path";
import { moveToTenants } from "../files/tenant-directories.ts";
import { WorkspaceFiles } from "../files/workspace-files.ts";
import type { Gateway } from "../harp/gateway/gateway.ts";
import { startGateway } from "../harp/gateway/start.ts";
import { requestsPerMinuteDefault } from "../kernel/access/request-rates.ts";
import { systemClock } from "../kernel/core/clock.ts";
import { createIds } from "../kernel/core/ids.ts";
import { createKernel, type KernelOptions } from "../kernel/kernel.ts";
import { Issuer } from "../kernel/receipts/signing.ts";
import { AdminKeyHolder, loadAdminKey } from "../policy/admin-key.ts";
import { ExternalIssuers } from "../policy/external-issuers.ts";
import { FailureLog } from "../policy/failure-log.ts";
import { MasterKeys } from "../policy/master-keys.ts";
import { OperatorSecrets } from "../policy/operator-secrets.ts";
import { createOutbound } from "../policy/outbound.ts";
import { keepSigningKey, loadSigningKey } from "../policy/signing-key.ts";
import type { AgentRegistry } from "../runtime/agents/registry.ts";
import { failPoint } from "../store/fail-point.ts";
import { isLoopbackHost } from "../surfaces/loopback.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import type { Traces } from "../telemetry/traces/traces.ts";
import { openApprovalAccess } from "./approval-access.ts";
import type { ServerConfig } from "./config.ts";
import { ReceiptThread } from "./receipts-thread.ts";
import { RedactionThread } from "./redaction-thread.ts";
import type { Stores } from "./stores.ts";

export interface KernelParts {
  kernel: ReturnType<typeof createKernel>;
  gateway: Gateway;
  adminKey: AdminKeyHolder;
  issuer: Issuer;
  masterKeys: MasterKeys;
}

interface Beneath {
  stores: Stores;
  agents: AgentRegistry;
  metrics: Metrics | null;
  traces: Traces | null;
  built: AsyncDisposableStack;
}

export async function buildKernel(
  config: ServerConfig,
  { stores: { log: store, gateway: gatewayStore }, agents, metrics, traces, built }: Beneath,
): Promise<KernelParts> {
  const { logger, dataDirectory } = config;
  const adminKey = new AdminKeyHolder(loadAdminKey(join(dataDirectory, "admin.key"), config.apiKey));
  const keyFile = join(dataDirectory, "signing.key");
  const issuer = new Issuer(loadSigningKey(keyFile), (pem) => keepSigningKey(keyFile, pem));
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
  const { gateway } = built.use(
    startGateway({
      store: gatewayStore,
      now: () => systemClock.now(),
      newId: createIds(() => systemClock.now()),
      settings: config.gateway,
      logger,
    }),
  );
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
    requestsPerMinute: requestsPerMinute(config),
    onAuthFailure({ from, reason }) {
      authFailures.note(from);
      metrics?.authFailed(reason);
    },
    ticketMs: config.webSocket.ticketMs,
    masterKeys,
    operatorSecrets: new OperatorSecrets(config.operatorSecrets),
    files,
    contextPacks: config.contextPacks,
    outbound: createOutbound({
      allowPrivate: config.allowPrivateAddresses,
      blockedRanges: config.blockedRanges,
    }),
    retainMs: config.retainMs,
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
  return { kernel, gateway, adminKey, issuer, masterKeys };
}

const filesNotMoved =
  "Files of workspaces could not be moved into the directories of their tenants; move <data>/workspaces/<workspace> to <data>/workspaces/<tenant>/<workspace>";

function requestsPerMinute({ requestsPerMinute: said, host, trustedProxies }: ServerConfig): number | null {
  if (said !== "auto") return said;
  return isLoopbackHost(host) && trustedProxies.length === 0 ? null : requestsPerMinuteDefault;
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
