/** Answers questions about orders with a model and two tools. What cannot be undone is approved first. */

import { defineAgent, defineTool, Type } from "bridle";

export const findOrder = defineTool({
  name: "order.find",
  description: "Finds an order by its number.",
  input: Type.Object({ order: Type.String() }),
  output: Type.Object({ item: Type.String(), cents: Type.Integer(), delivered: Type.Boolean() }),
  effect: "none",
  // Your database goes here.
  run: async () => ({ item: "a lamp", cents: 4900, delivered: false }),
});

export const refund = defineTool({
  name: "order.refund",
  description: "Pays an order back. Use it only if the customer asks for it and the order was not delivered.",
  input: Type.Object({ order: Type.String(), cents: Type.Integer({ minimum: 1 }) }),
  output: Type.Object({ paid: Type.Integer() }),
  effect: "irreversible",
  risk: "high",
  action: ({ order, cents }) => `refund ${(cents / 100).toFixed(2)} for ${order}`,
  // Your payment provider goes here. The second argument has an idempotencyKey and a signal.
  run: async ({ cents }) => ({ paid: cents }),
});

export default defineAgent({
  name: "orders",
  version: "1.0.0",
  description: "Answers questions about orders, and pays them back once somebody approved it.",
  tools: [findOrder, refund],
  async run(ctx) {
    const { text } = await ctx.model.generate({
      label: "answer",
      system: ctx.persona.instructions,
      messages: [...(await ctx.conversation()), { role: "user", content: ctx.text }],
      tools: [findOrder, refund],
    });
    return text;
  },
});
