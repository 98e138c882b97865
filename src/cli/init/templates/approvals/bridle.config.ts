import { defineConfig } from "bridle";

export default defineConfig({
  personas: [
    {
      name: "publisher",
      entry_workflow: "publisher",
      description: "Writes by itself; a person approves what it publishes.",
      autonomy_tier: "act_with_approval",
      receipt_policy: "required",
    },
  ],
});
