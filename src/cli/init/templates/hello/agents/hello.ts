/** Greets whoever answers. What a step gives is written down: after a crash it is not done again. */

import { defineAgent } from "bridle";

const greetings = ["Hello", "Olá", "Moin"];

export default defineAgent({
  name: "hello",
  version: "1.0.0",
  description: "Greets whoever answers.",
  async run(ctx) {
    const greeting = await ctx.step("choose", () => greetings[ctx.text.length % greetings.length] ?? "Hello");
    // It waits here, out of memory, for as long as it takes; also when the server is stopped and started again.
    const name = await ctx.ask("Who is there?");
    return await ctx.step("greet", () => `${greeting}, ${name}!`);
  },
});
