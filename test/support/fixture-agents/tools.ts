/** Agents that show best as tools: one with arguments and a result of its own, one that asks for a form. */

import { defineAgent } from "bridle";
import { Type } from "typebox";

export const adder = defineAgent({
  name: "adder",
  version: "1.0.0",
  description: "Adds two numbers.",
  skills: [
    {
      id: "add",
      description: "Add.",
      input: Type.Object({ a: Type.Number(), b: Type.Number() }),
      output: Type.Object({ sum: Type.Number() }),
    },
  ],
  async run(ctx) {
    const { a, b } = ctx.input;
    return { sum: Number(a) + Number(b) };
  },
});

export const planner = defineAgent({
  name: "planner",
  version: "1.0.0",
  description: "Asks where and how much.",
  async run(ctx) {
    const { region, count } = await ctx.ask(
      "Where, and how many?",
      Type.Object({
        region: Type.Union([Type.Literal("eu"), Type.Literal("us")]),
        count: Type.Integer({ minimum: 1 }),
      }),
    );
    return `${count} in ${region}`;
  },
});

export const listener = defineAgent({
  name: "listener",
  version: "1.0.0",
  description: "Waits for the signal that the text names.",
  run: async (ctx) => JSON.stringify(await ctx.waitFor(ctx.text)),
});
