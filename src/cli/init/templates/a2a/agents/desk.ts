/** Takes wishes at the desk and hands the search to the librarian: here, or wherever LIBRARIAN_URL leads. */

import { defineAgent } from "bridle";

/** The agent card of a librarian elsewhere, read once when the server starts. */
const url = process.env.LIBRARIAN_URL;

export default defineAgent({
  name: "desk",
  version: "1.0.0",
  description: "Tells readers where to find a book.",
  async run(ctx) {
    const title = ctx.text === "" ? await ctx.ask("Which book?") : ctx.text;
    const target = url === undefined ? { agent: "librarian" } : { url };
    const { status, output } = await ctx.handoff({ ...target, input: { title } });
    return status === "SUCCEEDED" ? `${title}: ${String(output)}` : `Nobody could look for ${title}.`;
  },
});
