/** `bridle gateway`: the HARP gateway alone, said where it is, and stopped gently on Ctrl-C. */

import { flushCompileCache } from "node:module";
import { resolve } from "node:path";
import { startGatewayServer } from "../../server/gateway-server.ts";
import { createLogger } from "../../server/logger.ts";
import { version } from "../../version.ts";
import type { GatewayCommandSettings } from "../commands/gateway-command.ts";
import { gatewaySettingsOf } from "../settings/gateway-options.ts";
import { tlsOf } from "../settings/listen-options.ts";
import { interrupted, keyLines, reloadOnHangup, stopFailed } from "./listening.ts";

export async function runGateway(settings: GatewayCommandSettings): Promise<void> {
  const { host, port, data, apiKey, logLevel, authFailures, trustProxy, insecureHttp, allowedHosts } =
    settings;
  const server = await startGatewayServer({
    ...{ host, port, insecureHttp, allowedHosts },
    tls: tlsOf(settings),
    dataDirectory: resolve(data),
    apiKey: apiKey ?? null,
    authFailuresMax: authFailures,
    trustedProxies: trustProxy,
    settings: gatewaySettingsOf(settings),
    logger: createLogger(logLevel, apiKey === undefined ? [] : [apiKey]),
  });
  const asked = interrupted();
  reloadOnHangup(server);
  const { url, adminKey } = server;
  const shellKey = adminKey.origin === "setting" ? "<your key>" : `"$(cat '${adminKey.file}')"`;
  process.stdout.write(`
Bridle ${version}, the HARP gateway alone, is ready.

  URL       ${url}
  Data      ${resolve(data)}
${keyLines(adminKey)}

Make a key for each enforcer and each approver (their ids are yours to choose):
  export BRIDLE_URL=${url} BRIDLE_KEY=${shellKey} HARN="Harn-Agents-Protocol-Version: agents-protocol-2026-04-25"
  curl -s $BRIDLE_URL/v1/api-keys -H "Authorization: Bearer $BRIDLE_KEY" -H "$HARN" --json '{"name":"laptop","actor":"laptop","scopes":["harp:enforcer:laptop"]}'
  curl -s $BRIDLE_URL/v1/api-keys -H "Authorization: Bearer $BRIDLE_KEY" -H "$HARN" --json '{"name":"phone","actor":"ada","scopes":["harp:approver:ada"]}'

  What it is and speaks: ${url}/v1/status. Stop with Ctrl-C.

`);
  // Not left to the end, which may come without warning.
  flushCompileCache();
  const failure = await Promise.race([asked, server.failed]);
  if (failure !== undefined) return await stopFailed(failure, () => server.stop());
  process.stdout.write("\nStopping.\n");
  await server.stop();
  process.stdout.write("Stopped. The log is closed.\n", () => process.exit(0));
}
