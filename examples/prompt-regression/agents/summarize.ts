import { type Agent, defineAgent } from "bridle";
import { customerOf } from "../customers.ts";

/** What runs now, and what is to run from tomorrow on. Tasks keep the version that they started with. */
export const summarize = summarizer("1.0.0", "Summarize this message to our support.");

export const summarizeBriefly = summarizer(
  "1.1.0",
  "Summarize this message to our support in one sentence of at most 120 characters. Name the order, and what the customer wants.",
);

function summarizer(version: string, system: string): Agent {
  return defineAgent({
    name: "summarize",
    version,
    description: "Tells the support team in short what a customer wants.",
    tools: [customerOf],
    async run(ctx) {
      const { plan } = await ctx.tool(customerOf, { text: ctx.text });
      const { text } = await ctx.model.generate({
        label: "summary",
        system,
        prompt: `${ctx.text}\n\n(The customer's plan is ${plan}.)`,
      });
      return text;
    },
  });
}
