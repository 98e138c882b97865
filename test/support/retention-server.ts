/** A server that keeps what ended for RETAIN_MS milliseconds only: days are too long for a test. */

import { parseArgs } from "node:util";
import { startServer } from "bridle";
import { sayReady } from "./ready.ts";

const { values } = parseArgs({ options: { port: { type: "string" }, data: { type: "string" } } });
const server = await startServer({
  port: Number(values.port),
  grpcPort: process.env.BRIDLE_GRPC_PORT === "off" ? null : 0,
  dataDirectory: values.data ?? "",
  apiKey: process.env.BRIDLE_API_KEY ?? null,
  retainMs: Number(process.env.RETAIN_MS),
});
sayReady(server);
process.once("SIGINT", async () => {
  await server.stop(1000);
  process.exit(0);
});
