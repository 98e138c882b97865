/** Answers with what it was given: the text, or the structured input as it is. */

import { defineAgent } from "../runtime/agents/agent.ts";

export const echo = defineAgent({
  name: "echo",
  version: "1.0.0",
  description: "Answers every task with what it was given.",
  skills: [{ id: "echo", name: "Echo", description: "Give the input back." }],
  async run(ctx) {
    if (ctx.parts.length === 0) return ctx.text === "" ? ctx.input : ctx.text;
    // What was said to the agent only is not for everybody to hear.
    const heard = ctx.parts.filter((part) => part.visibility === "public");
    const texts = heard.flatMap((part) => (part.type === "text" ? [part.text] : []));
    const json = heard.find((part) => part.type === "json");
    return texts.length === 0 && json !== undefined ? json.value : texts.join("\n");
  },
});
