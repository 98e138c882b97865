/**
 * A server with a fault: asking who calls fails for the key `faulty-key`, for `later-faulty-key` when a message has been read, and for every key once a connection is open; tokens are
 * never issued. What goes wrong has a secret in it. Log lines are written as `bridle serve` writes them.
 */

import { parseArgs } from "node:util";
import { startServer } from "bridle";
import { createLogger } from "../../src/server/logger.ts";

const { values } = parseArgs({
  options: { port: { type: "string" }, data: { type: "string" } },
});

const { BRIDLE_API_KEY = "", BRIDLE_LOG_LEVEL = "info", FAULT = "" } = process.env;
const server = await startServer({
  port: Number(values.port),
  grpcPort: 0,
  dataDirectory: values.data ?? "",
  apiKey: BRIDLE_API_KEY,
  logger: createLogger(BRIDLE_LOG_LEVEL, [BRIDLE_API_KEY]),
});
const { authenticate, stillAllowed } = server.kernel;
let asked = 0;
server.kernel.authenticate = async (presented, from) => {
  // Asked before the message is read, and again when it has been.
  if (presented === "later-faulty-key" && ++asked % 2 === 1) return await authenticate(BRIDLE_API_KEY, from);
  if (presented.endsWith("faulty-key") || from === undefined) throw new TypeError(`What is this? ${FAULT}`);
  return await authenticate(presented, from);
};
server.kernel.stillAllowed = (credential) =>
  Object.assign(() => Promise.reject(new TypeError(`What is this? ${FAULT}`)), {
    watch: stillAllowed(credential).watch,
  });
server.kernel.issueToken = () => Promise.reject(new TypeError(`What is this? ${FAULT}`));
process.stdout.write(`  URL       ${server.url}\n  gRPC      ${server.grpcUrl}\n`);
