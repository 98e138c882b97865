/**
 * Makes the fixtures: what version 1.0.0 does with each message. Run it when a version is released, and commit what it writes.
 * Of a task on a server, `bridle replay TASK --fixture FILE` makes the same.
 *
 *   node examples/prompt-regression/record.ts
 */

import { rehearse } from "bridle/testing";
import { summarize } from "./agents/summarize.ts";
import { script } from "./model.ts";
import { tickets } from "./tickets.ts";

for (const { name, text } of tickets) {
  const run = await rehearse(summarize, { input: text, models: script });
  await run.save(new URL(`fixtures/${name}.jsonl`, import.meta.url));
  console.log(`fixtures/${name}.jsonl: ${run.output}`);
}
