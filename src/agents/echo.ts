/** Answers with what it was given: the text, or the structured input as it is. */

import { defineAgent } from "../runtime/agent.ts";

export const echo = defineAgent({
  name: "echo",
  version: "1.0.0",
  description: "Answers every task with what it was given.",
  skills: [{ id: "echo", name: "Echo", description: "Give the input back." }],
  async run(ctx) {
    return ctx.text === "" ? ctx.input : ctx.text;
  },
});
