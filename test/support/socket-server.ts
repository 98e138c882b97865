/**
 * A server with agents that need hosts, or try the patience of who listens:
 *
 *   mediated   makes the host calls of its input, side by side, and gives what came of each
 *   talkative  says much: `input.messages` messages of `input.chars` characters
 */

import { type AgentFailure, defineAgent } from "bridle";
import type { JsonObject } from "../../src/store/port.ts";
import { serve } from "./serve.ts";

const mediated = defineAgent({
  name: "mediated",
  version: "1",
  async run(ctx) {
    const calls = [ctx.input.calls ?? []].flat() as JsonObject[];
    const options =
      ctx.input.expires_in_ms === undefined ? {} : { expiresInMs: Number(ctx.input.expires_in_ms) };
    return await Promise.all(
      calls.map(({ capability, input = null }) =>
        ctx
          .host(String(capability), input, options)
          .catch(({ code, message }: AgentFailure) => ({ code, message })),
      ),
    );
  },
});

const talkative = defineAgent({
  name: "talkative",
  version: "1",
  async run(ctx) {
    const { messages, chars } = ctx.input;
    for (let n = 0; n < Number(messages); n++) await ctx.say(String(n % 10).repeat(Number(chars)));
    return undefined;
  },
});

export const agents = [mediated, talkative];

if (import.meta.main) await serve({ agents });
