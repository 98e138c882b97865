/** What models say in the pages that need one. */

import type { Script } from "./model-server.ts";

export const modelScripts: Readonly<Record<string, readonly Script[]>> = {
  "docs/guides/assistant.md": [
    { toolCalls: [{ name: "files_write", input: { path: "notes/meeting.md", text: "Friday." } }] },
    { text: "Noted." },
    // Whom it can hand work to is in what the model is told.
    ({ body }) => {
      const [to = ""] = /persona_\w+/.exec(JSON.stringify(body)) ?? [];
      return { toolCalls: [{ name: "hand_off", input: { to, work: "When is the meeting?" } }] };
    },
    { text: "On Friday." },
    { text: "The meeting is on Friday." },
  ],
  "docs/tutorials/model-and-tools.md": [
    { toolCalls: [{ name: "orders_find", input: { order: "A-1042" } }] },
    { toolCalls: [{ name: "orders_refund", input: { order: "A-1042", cents: 4900 } }] },
    { text: "I am sorry about the lamp; we have paid you back 49 euros." },
  ],
};
