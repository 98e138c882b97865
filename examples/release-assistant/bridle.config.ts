import { defineConfig } from "bridle";

export default defineConfig({
  personas: [
    {
      name: "release",
      entry_workflow: "release",
      description: "Writes the release notes by itself, and asks before it publishes.",
      autonomy_tier: "act_auto",
      approval_policy: { ask_from: "high" },
      receipt_policy: "required",
      tools: ["unreleased", "publish"],
      model_policy: {
        instructions:
          "You write release notes for the people who use the software. Be brief. Leave out what they will not notice.",
      },
    },
  ],
});
