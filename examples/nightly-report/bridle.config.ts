import { defineConfig } from "bridle";

export default defineConfig({
  personas: [
    {
      name: "nightly-report",
      entry_workflow: "nightly-report",
      description: "Writes a report on the day's sales, every night at two.",
      autonomy_tier: "act_auto",
      receipt_policy: "required",
      tools: ["sales.total"],
      capabilities: ["files:read", "files:write", "memory:read", "memory:write"],
      handoffs: [],
      model_policy: {
        instructions:
          "You write the first paragraph of a report on sales. Two sentences: what was sold in all, and what changed most. Only what is in the table.",
        max_tokens: 300,
      },
      schedules: [{ cron: "0 2 * * *", time_zone: "Europe/Berlin" }],
    },
  ],
});
