/** Answers with what it was given: the text, or the structured input as it is. */

import { defineAgent } from "../runtime/agent.ts";

export const echo = defineAgent({
  name: "echo",
  version: "1.0.0",
  description: "Answers every task with what it was given.",
  skills: [{ id: "echo", name: "Echo", description: "Give the input back." }],
  async run(ctx) {
    // What was said to the agent only is not for everybody to hear.
    const heard = ctx.parts.flatMap((part) =>
      part.type === "text" && part.visibility === "public" ? [part.text] : [],
    );
    const text = ctx.parts.length === 0 ? ctx.text : heard.join("\n");
    return text === "" ? ctx.input : text;
  },
});
