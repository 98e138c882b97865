/** `bridle serve`: start the server, say how to use it, and stop it gently on Ctrl-C. */

import { flushCompileCache } from "node:module";
import { createLogger } from "../logger.ts";
import { type Server, startServer } from "../server.ts";
import { version } from "../version.ts";
import { addressLines, listenToRejections, stopWhenAsked } from "./running.ts";
import { knownSecrets, type Serving, serverConfigOf } from "./server-config.ts";

export async function serve(serving: Serving): Promise<void> {
  const { settings } = serving;
  const logger = createLogger(settings.logLevel, knownSecrets(serving));
  const server = await startServer(serverConfigOf(serving, logger));
  listenToRejections(server, logger);
  process.stdout.write(greeting(server, serving));
  // Not left to the end, which may come without warning.
  flushCompileCache();
  await stopWhenAsked(server, settings.graceMs);
}

function greeting(server: Server, serving: Serving): string {
  const { url, adminKey } = server;
  const shellKey = adminKey.origin === "setting" ? "<your key>" : `"$(cat '${adminKey.file}')"`;
  return `
Bridle ${version} is ready.

${addressLines(server, serving)}

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
