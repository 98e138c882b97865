/** `bridle serve`: start the server, say how to use it, and stop it gently on Ctrl-C. */

import { flushCompileCache } from "node:module";
import { resolve } from "node:path";
import { defaultConfig, type Tls } from "../config.ts";
import { createLogger } from "../logger.ts";
import { type Server, startServer } from "../server.ts";
import { version } from "../version.ts";
import { loadAgents } from "./load-agents.ts";
import type { ServeSettings } from "./settings.ts";

const dayMs = 24 * 60 * 60 * 1000;

export async function serve(settings: ServeSettings, masterKeys: readonly string[]): Promise<void> {
  const secrets = settings.apiKey === undefined ? masterKeys : [settings.apiKey, ...masterKeys];
  const logger = createLogger(settings.logLevel, secrets);
  const server = await startServer({
    host: settings.host,
    port: settings.port,
    grpcPort: settings.grpcPort === "off" ? null : settings.grpcPort,
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
    allowPrivateAddresses: settings.allowPrivateAddresses,
    retainMs: settings.retainDays === undefined ? null : settings.retainDays * dayMs,
    openHarness: { ...defaultConfig.openHarness, waitMs: settings.openharnessWaitMs },
    opvsLenientVersion: settings.opvsLenientVersion,
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

/** Resolves at the first signal; the second ends the process on the spot, which loses nothing that was acknowledged. */
function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    let signals = 0;
    const onSignal = () => {
      signals += 1;
      if (signals > 1) process.exit(1);
      resolve();
    };
    process.on("SIGINT", onSignal);
    process.on("SIGTERM", onSignal);
  });
}

function tlsOf({ tlsCert, tlsKey }: ServeSettings): Tls | null {
  return tlsCert === undefined || tlsKey === undefined ? null : { cert: tlsCert, key: tlsKey };
}

function greeting({ url, grpcUrl, adminKey }: Server, { data }: ServeSettings): string {
  const key = {
    created: `  API key   ${adminKey.key}\n            shown this once; kept in ${adminKey.file}`,
    file: `  API key   in ${adminKey.file}`,
    setting: "  API key   the one you set",
  }[adminKey.origin];
  const shellKey = adminKey.origin === "setting" ? "<your key>" : `"$(cat '${adminKey.file}')"`;
  return `
Bridle ${version} is ready.

  URL       ${url}
  gRPC      ${grpcUrl ?? "off"}
  Data      ${resolve(data)}
${key}

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
