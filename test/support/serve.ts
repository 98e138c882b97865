/**
 * Runs the server of a test's agents as a script: `node NAME-server.ts --port 0 --data DIRECTORY` prints where it is, and stops at
 * Ctrl-C. Tests that kill nothing start the same server in their own process, with its `config`.
 */

import { parseArgs } from "node:util";
import { type ServerConfig, startServer } from "bridle";
import { pino } from "pino";
import { sayReady } from "./ready.ts";

export async function serve(config: Partial<ServerConfig>): Promise<void> {
  const { values } = parseArgs({ options: { port: { type: "string" }, data: { type: "string" } } });
  const { BRIDLE_API_KEY = null, BRIDLE_LOG_LEVEL = "warn" } = process.env;
  const server = await startServer({
    port: Number(values.port),
    dataDirectory: values.data ?? "",
    apiKey: BRIDLE_API_KEY,
    logger: pino({ level: BRIDLE_LOG_LEVEL }, pino.destination(2)),
    ...config,
  });
  sayReady(server);
  process.once("SIGINT", () => server.stop(0));
}
