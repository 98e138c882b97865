/**
 * A server whose webhooks may be on this machine. The environment says the rest:
 *
 *   PUSH_STRICT   only public addresses, as by default
 *   PUSH_BACKOFF  how failed deliveries are tried again, as JSON
 *   RETAIN_MS     how long what ended is kept
 */

import { parseArgs } from "node:util";
import { defineAgent, startServer } from "bridle";
import { sayReady } from "./ready.ts";

const { PUSH_STRICT, PUSH_BACKOFF = "{}", RETAIN_MS, BRIDLE_API_KEY = null } = process.env;
const { values } = parseArgs({ options: { port: { type: "string" }, data: { type: "string" } } });
const server = await startServer({
  port: Number(values.port),
  dataDirectory: values.data ?? "",
  apiKey: BRIDLE_API_KEY,
  allowPrivateAddresses: PUSH_STRICT === undefined,
  webhookBackoff: JSON.parse(PUSH_BACKOFF),
  retainMs: RETAIN_MS === undefined ? null : Number(RETAIN_MS),
  agents: [
    defineAgent({
      name: "silent",
      version: "1.0.0",
      card: { pushNotifications: false },
      run: async () => "done",
    }),
  ],
});
sayReady(server);
process.once("SIGINT", async () => {
  await server.stop(1000);
  process.exit(0);
});
