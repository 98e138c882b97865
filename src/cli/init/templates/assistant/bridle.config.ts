import { defineConfig } from "bridle";

export default defineConfig({
  // A model: set ANTHROPIC_API_KEY and BRIDLE_MODEL, or see docs/guides/models.md for your own server.
  personas: [
    {
      name: "orders",
      entry_workflow: "orders",
      description: "Answers by itself; asks a person before it pays anything back.",
      autonomy_tier: "act_auto",
      receipt_policy: "required",
      approval_policy: { ask_from: "high" },
      tools: ["order.find", "order.refund"],
      model_policy: {
        instructions: "You answer customers of a shop. Look orders up before you speak of them. Be brief.",
      },
    },
  ],
});
