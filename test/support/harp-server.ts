/** A server whose gateway has settings that no flag has, from HARP_SETTINGS as JSON: times that are short enough to see. */

import { parseArgs } from "node:util";
import { startServer } from "bridle";
import { pino } from "pino";
import { gatewayDefaults } from "../../src/gateway/settings.ts";
import { sayReady } from "./ready.ts";

const { HARP_SETTINGS = "{}", BRIDLE_API_KEY = null } = process.env;
const { values } = parseArgs({ options: { port: { type: "string" }, data: { type: "string" } } });
const server = await startServer({
  port: Number(values.port),
  dataDirectory: values.data ?? "",
  apiKey: BRIDLE_API_KEY,
  logger: pino({ level: "warn" }, pino.destination(2)),
  gateway: { ...gatewayDefaults, ...JSON.parse(HARP_SETTINGS) },
});
sayReady(server);
process.once("SIGINT", () => server.stop(0));
