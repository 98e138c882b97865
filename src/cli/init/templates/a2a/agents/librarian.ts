/** Finds where a book stands. Other agents reach it over A2A, at /opvs/agents/librarian. */

import { defineAgent, Type } from "bridle";

const shelves: Record<string, string> = { "Moby-Dick": "shelf 3", Emma: "shelf 7" };

export default defineAgent({
  name: "librarian",
  version: "1.0.0",
  description: "Says where a book stands.",
  skills: [{ id: "find", description: "Find a book", input: Type.Object({ title: Type.String() }) }],
  async run(ctx) {
    const { title } = ctx.input;
    return await ctx.step("look up", () => shelves[title] ?? "not here");
  },
});
