/** A program that rehearses, and then says what would keep it from ending. */

import { defineAgent } from "../../src/runtime/agents/agent.ts";
import { rehearse } from "../../src/testing/index.ts";

const agent = defineAgent({
  name: "agent",
  version: "1.0.0",
  async run(ctx) {
    await ctx.step("slow", () => new Promise<void>((resolve) => setTimeout(resolve, 5)));
    await ctx.sleep(500);
    await ctx.sleep(10 ** 10);
    return await ctx.ask("Well?");
  },
});

const options = { input: "", people: { answers: ["yes"] } };
const ended = await rehearse(agent, { ...options, crashEverywhere: true });
const waiting = await rehearse(agent, { input: "" });
console.log(ended.status, waiting.status);
// Standard output is a pipe here, and a pipe is no reason to stay.
console.log(process.getActiveResourcesInfo().filter((resource) => resource !== "PipeWrap"));
