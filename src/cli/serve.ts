/** `bridle serve`: start the server, say how to use it, and stop it gently on Ctrl-C. */

import { flushCompileCache } from "node:module";
import { resolve } from "node:path";
import { defaultConfig } from "../config.ts";
import { createLogger } from "../logger.ts";
import { type Server, startServer } from "../server.ts";
import { harpPath } from "../surfaces/addresses.ts";
import { version } from "../version.ts";
import { gatewaySettingsOf } from "./gateway-options.ts";
import { tlsOf } from "./listen-options.ts";
import { interrupted, keyLines } from "./listening.ts";
import { loadAgents } from "./load-agents.ts";
import type { ServeSettings } from "./settings.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** What must not be in the list of processes, and so comes by the environment. */
export interface ServeSecrets {
  masterKeys: readonly string[];
  gatewayKey: string | null;
}

export async function serve(
  settings: ServeSettings,
  { masterKeys, gatewayKey }: ServeSecrets,
): Promise<void> {
  const secrets = [settings.apiKey, gatewayKey, ...masterKeys].filter((secret) => secret != null);
  const logger = createLogger(settings.logLevel, secrets);
  const server = await startServer({
    host: settings.host,
    port: settings.port,
    grpcPort: settings.grpcPort === "off" ? null : settings.grpcPort,
    harpPort: settings.harpPort === "off" ? null : settings.harpPort,
    tls: tlsOf(settings),
    dataDirectory: resolve(settings.data),
    apiKey: settings.apiKey ?? null,
    logger,
    publicUrl: settings.publicUrl ?? null,
    agents: await loadAgents(settings.agents),
    concurrency: settings.concurrency,
    oauthIssuers: settings.oauthIssuer,
    oauthAudience: settings.oauthAudience ?? null,
    authFailuresMax: settings.authFailures,
    trustedProxies: settings.trustProxy,
    corsOrigins: settings.corsOrigin,
    artifactBytesMax: settings.artifactBytesMax,
    workspaceRoots: settings.workspaceRoots.map((directory) => resolve(directory)),
    masterKeys,
    enforcer: {
      id: settings.enforcerId,
      label: settings.enforcerLabel,
      remoteGateway:
        settings.gateway === undefined || gatewayKey === null
          ? null
          : { url: settings.gateway, key: gatewayKey },
    },
    allowPrivateAddresses: settings.allowPrivateAddresses,
    retainMs: settings.retainDays === undefined ? null : settings.retainDays * dayMs,
    openHarness: { ...defaultConfig.openHarness, waitMs: settings.openharnessWaitMs },
    opvsLenientVersion: settings.opvsLenientVersion,
    gateway: gatewaySettingsOf(settings),
  });
  // An agent that forgets to await a promise of its own must not take everybody's tasks down with it.
  process.on("unhandledRejection", (error) => {
    const { redactor, seenSecrets } = server.kernel;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    logger.error(
      { error: redactor.with([...seenSecrets]).text(text) },
      "a promise was rejected and nobody listened",
    );
  });
  process.stdout.write(greeting(server, settings));
  // Not left to the end, which may come without warning.
  flushCompileCache();
  await interrupted();
  process.stdout.write("\nStopping: no new work, running steps may finish. Ctrl-C again to stop at once.\n");
  const { interrupted: cut } = await server.stop(settings.graceMs);
  const note = cut === 0 ? "" : ` ${cut} running tasks were cut short; they go on at the next start.`;
  // A step that does not listen to its signal must not keep a stopped server alive.
  process.stdout.write(`Stopped. The log is closed.${note}\n`, () => process.exit(0));
}

function greeting({ url, grpcUrl, harpUrl, adminKey }: Server, { data }: ServeSettings): string {
  const shellKey = adminKey.origin === "setting" ? "<your key>" : `"$(cat '${adminKey.file}')"`;
  return `
Bridle ${version} is ready.

  URL       ${url}
  gRPC      ${grpcUrl ?? "off"}
  HARP      ${[harpUrl, url + harpPath].filter((at) => at !== null).join("\n            ")}
  Data      ${resolve(data)}
${keyLines(adminKey)}

Try it:
  export BRIDLE_URL=${url} BRIDLE_KEY=${shellKey} HARN="Harn-Agents-Protocol-Version: agents-protocol-2026-04-25"

  1. open a session
     curl -s $BRIDLE_URL/v1/sessions -H "Authorization: Bearer $BRIDLE_KEY" -H "$HARN" --json '{"workspace_id":"workspace_default"}'
  2. give it a task and wait for the result
     curl -s $BRIDLE_URL/v1/tasks -H "Authorization: Bearer $BRIDLE_KEY" -H "$HARN" -H "Prefer: wait=10" --json '{"session_id":"<id>","input":{"text":"hello"}}'
  3. watch everything that happens, as it happens
     curl -N $BRIDLE_URL/v1/events/stream -H "Authorization: Bearer $BRIDLE_KEY" -H "$HARN"
  4. the same as other agents would, over OPVS (A2A 1.0)
     curl -s $BRIDLE_URL/opvs/rest/message:send -H "Authorization: Bearer $BRIDLE_KEY" -H "A2A-Version: 1.0" --json '{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}}'

  More keys: POST /v1/api-keys. The whole API: ${url}/openapi.json. Stop with Ctrl-C.

`;
}
