/** A server with agents whose cards differ: what they offer, what they take, what they ask of their callers. */

import { defineAgent, type ServerConfig } from "bridle";
import { serve } from "./serve.ts";

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

/** Takes whatever there is. */
const omnivore = defineAgent({
  name: "omnivore",
  version: "1",
  card: { inputModes: ["text", "image/*", "application/*"] },
  run: async () => "thanks",
});

/** Hands its work on to another agent. */
const delegator = defineAgent({
  name: "delegator",
  version: "1",
  run: async (ctx) =>
    (await (await ctx.spawn({ personaId: "persona_messenger", input: ctx.text })).result()).task_id,
});

/** Asks how many pieces of 100,000 characters it is to write, and writes them. */
const torrent = defineAgent({
  name: "torrent",
  version: "1",
  async run(ctx) {
    const count = Number(await ctx.ask("How many?"));
    const artifact = await ctx.streamArtifact({ name: "torrent.txt", mimeType: "text/plain" });
    for (let n = 1; n <= count; n++) await artifact.write(String(n % 10).repeat(100_000));
    await artifact.close();
  },
});

export const config: Partial<ServerConfig> = {
  grpcPort: 0,
  agents: [plain, reserved, strict, messenger, omnivore, delegator, torrent],
  // Every binding tries all the wrong credentials, from one address.
  authFailuresMax: 10_000,
  // Receivers of webhooks are on this machine.
  allowPrivateAddresses: true,
};

if (import.meta.main) await serve({ ...config, publicUrl: process.env.BRIDLE_PUBLIC_URL ?? null });
