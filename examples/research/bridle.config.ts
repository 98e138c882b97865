import { join } from "node:path";
import { defineConfig } from "bridle";

const reviewer = process.env.REVIEWER_URL ?? "http://127.0.0.1:8081";

export default defineConfig({
  // The reviewer is on this machine. Leave this out when it is not.
  allowPrivateAddresses: true,
  mcpServers: {
    notes: { command: process.execPath, args: [join(import.meta.dirname, "notes-server.ts")] },
  },
  personas: [
    {
      name: "researcher",
      entry_workflow: "researcher",
      description: "Reads notes, and shows what it writes to the reviewer and to nobody else.",
      autonomy_tier: "act_auto",
      receipt_policy: "required",
      tools: ["notes.*"],
      handoffs: [`${reviewer}/opvs/agents/reviewer`],
      model_policy: {
        instructions:
          "You answer questions from the notes and from nothing else. Search them, read what you find, and name the notes that you used.",
      },
    },
  ],
});
