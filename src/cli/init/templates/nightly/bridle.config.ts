import { defineConfig } from "bridle";

export default defineConfig({
  personas: [
    {
      name: "nightly",
      entry_workflow: "nightly",
      description: "Writes a report on the day's sales, every night at two.",
      autonomy_tier: "act_auto",
      receipt_policy: "required",
      capabilities: ["files:read", "files:write", "memory:read", "memory:write"],
      schedules: [{ cron: "0 2 * * *", time_zone: "Europe/Berlin" }],
    },
  ],
});
