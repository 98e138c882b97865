/** An agent that records as many steps as its input says, one after the other. */

import { defineAgent } from "bridle";

export default defineAgent({
  name: "steps",
  version: "1.0.0",
  description: "Records as many steps as it is told.",
  async run(ctx) {
    const count = Number(ctx.text);
    for (let n = 1; n <= count; n++) await ctx.step(`step ${n}`, () => ({ n }));
    return count;
  },
});
