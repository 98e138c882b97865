/** Drafts a notice, asks for its headline, and publishes exactly what somebody approved. */

import { defineAgent } from "bridle";

export default defineAgent({
  name: "publisher",
  version: "1.0.0",
  description: "Publishes a notice once somebody approved it.",
  async run(ctx) {
    const notice = await ctx.step("write", () => `To all: ${ctx.text}`);
    const title = await ctx.ask("What is the headline?");
    const { outcome, output } = await ctx.effect(
      `publish ${title}`,
      // Your website goes here. What it is given is what was approved.
      () => `https://example.com/notices/${title.toLowerCase().replaceAll(" ", "-")}`,
      { payload: { title, notice }, risk: "high" },
    );
    return outcome === "done" ? `Published at ${String(output)}` : `Not published: ${outcome}.`;
  },
});
