/** A server with agents that do what the built-in ones cannot: keep content internal, leave it half written, ask for JSON. */

import { defineAgent, type ServerConfig } from "bridle";
import { Type } from "typebox";
import { serve } from "./serve.ts";

/** Whatever it does with its input, which is a secret, is internal. */
const secretive = defineAgent({
  name: "secretive",
  version: "1",
  async run(ctx) {
    const secret = ctx.input.content ?? null;
    const visibility = "internal";
    await ctx.say([
      { type: "text", text: "I know something.", visibility: "public" },
      { type: "json", value: secret, visibility },
    ]);
    await ctx.step("remember", () => secret);
    await ctx.artifact({ name: "whole.json", json: secret, visibility });
    const streamed = await ctx.streamArtifact({ name: "streamed.txt", visibility });
    await streamed.write(JSON.stringify(secret));
    await streamed.close();
    return "I said nothing.";
  },
});

/** Writes half of a text and asks for the other half. */
const drafter = defineAgent({
  name: "drafter",
  version: "1",
  async run(ctx) {
    const draft = await ctx.streamArtifact({ name: "draft.txt" });
    await draft.write("half and ");
    await draft.write(await ctx.ask("How does it go on?"));
    await draft.close();
    return draft.id;
  },
});

/** Asks for a number between 1 and 10, in JSON. */
const counter = defineAgent({
  name: "counter",
  version: "1",
  run: (ctx) => ctx.ask("How many?", Type.Object({ count: Type.Integer({ minimum: 1, maximum: 10 }) })),
});

export const config: Partial<ServerConfig> = { agents: [secretive, drafter, counter] };

if (import.meta.main) await serve(config);
