/** `bridle serve`: start the server, say how to use it, and stop it gently on Ctrl-C. */

import { flushCompileCache } from "node:module";
import { createLogger } from "../../server/logger.ts";
import { type Server, startServer } from "../../server/server.ts";
import { version } from "../../version.ts";
import { programName } from "../program-name.ts";
import { knownSecrets, type Serving, serverConfigOf } from "../settings/server-config.ts";
import { consoleLine } from "./console-link.ts";
import { interrupted, reloadOnHangup } from "./listening.ts";
import {
  addressLines,
  listenToRejections,
  reportSecretsInEnvironment,
  stopWhenAsked,
  whereToFind,
} from "./running.ts";

export async function serve(serving: Serving): Promise<void> {
  const { settings } = serving;
  const logger = createLogger(settings.logLevel, knownSecrets(serving));
  const server = await startServer(serverConfigOf(serving, logger));
  const asked = interrupted();
  reloadOnHangup(server);
  listenToRejections(server, logger);
  reportSecretsInEnvironment(serving, logger);
  process.stdout.write(greeting(server, serving));
  // Not left to the end, which may come without warning.
  flushCompileCache();
  await stopWhenAsked(asked, server, settings.graceMs);
}

function greeting(server: Server, serving: Serving): string {
  const where = whereToFind(serving.settings);
  const hasTour = server.kernel.agents.find("tour") !== undefined;
  const tour = hasTour ? `  See what it does: ${programName} tour${where}\n` : "";
  return `
Bridle ${version} is ready.

${addressLines(server, serving)}
${consoleLine(server, serving.settings)}

${tour}  Talk to an agent: ${programName} shell${where}
  The whole API: ${server.url}/openapi.json. Stop with Ctrl-C.

`;
}
