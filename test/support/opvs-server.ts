/** A server with agents whose cards differ: what they offer, what they take, what they ask of their callers. */

import { parseArgs } from "node:util";
import { pino } from "pino";
import { defineAgent } from "../../src/runtime/agent.ts";
import { startServer } from "../../src/server.ts";

const { values } = parseArgs({ options: { port: { type: "string" }, data: { type: "string" } } });

/** Offers nothing that an agent need not offer. */
const plain = defineAgent({
  name: "plain",
  version: "1",
  card: { streaming: false, pushNotifications: false, extendedCard: "no", inputModes: ["text/plain"] },
  run: async (ctx) => ctx.text,
});

/** Says that there is more to tell, and has nothing to tell. */
const reserved = defineAgent({
  name: "reserved",
  version: "1",
  card: { extendedCard: "unconfigured" },
  run: async (ctx) => ctx.text,
});

export const requiredExtension = "urn:test:required:1";

/** Works only with callers that know its extension. */
const strict = defineAgent({
  name: "strict",
  version: "1",
  card: { extensions: [{ uri: requiredExtension, description: "To be known.", required: true }] },
  run: async (ctx) => ctx.text,
});

/** Answers with a message. */
const messenger = defineAgent({
  name: "messenger",
  version: "1",
  card: { answersWithMessage: true },
  run: async (ctx) => `You said ${ctx.text}`,
});

const server = await startServer({
  port: Number(values.port),
  grpcPort: 0,
  dataDirectory: values.data ?? "",
  apiKey: process.env.BRIDLE_API_KEY ?? null,
  agents: [plain, reserved, strict, messenger],
  // Every binding tries all the wrong credentials, from one address.
  authFailuresMax: 10_000,
  // Receivers of webhooks are on this machine.
  allowPrivateAddresses: true,
  publicUrl: process.env.BRIDLE_PUBLIC_URL ?? null,
  logger: pino({ level: process.env.BRIDLE_LOG_LEVEL ?? "warn" }, pino.destination(2)),
});
process.stdout.write(`gRPC ${server.grpcUrl}\nURL ${server.url}\n`);
process.once("SIGINT", () => server.stop(0));
