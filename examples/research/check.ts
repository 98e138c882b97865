/**
 * Runs both projects, each on a server of its own, asks the researcher something, and exits with 1 when something is wrong.
 *
 *   node examples/research/check.ts
 */

import assert from "node:assert/strict";
import { scripted } from "bridle/testing";
import { type ExampleServer, startProject } from "../support.ts";
import { researcher } from "./agents/researcher.ts";
import { reviewer } from "./reviewer/agents/reviewer.ts";
import reviewerConfig from "./reviewer/bridle.config.ts";

const answer = "Spring tides come a day or two after new and full moon";
const writing = scripted([
  { toolCalls: [{ name: "notes_search", input: { words: "moon spring" } }] },
  { toolCalls: [{ name: "notes_read", input: { note: "spring-tides.md" } }] },
  `${answer}.`,
  `${answer} (spring-tides.md).`,
]);
const reviewing = scripted(({ prompt }) => ({
  object: prompt.includes(".md")
    ? { accepted: true, remarks: [] }
    : { accepted: false, remarks: ["Name your source."] },
}));

await using remote = await startProject({ config: reviewerConfig, agents: [reviewer], models: reviewing });
process.env.REVIEWER_URL = remote.url;
const { default: config } = await import("./bridle.config.ts");
await using server = await startProject({ config, agents: [researcher], models: writing });

const task = await server.submit("persona_researcher", { text: "When are spring tides?" });
const done = await server.untilTask(task.id, "COMPLETED");
assert.match(writing.calls[1]?.prompt ?? "", /spring-tides\.md/, "the notes were searched");
assert.match(writing.calls[2]?.prompt ?? "", /the sea takes time to answer/, "the note was read");
assert.match(writing.calls[3]?.prompt ?? "", /Name your source\./, "the model heard the reviewer");
console.log(writing.calls[3]?.prompt.split("\n").slice(0, 2).join(" "));
const summary = await server.summaryOf(done);
assert.equal(summary, `${answer} (spring-tides.md).`);
console.log(summary);

// Each side has signed for the work: the receipt here names those there, and both hold the same delegation.
const { delegations = [] } = await receiptOf(server, done.receipt_id);
assert.equal(delegations.length, 2, "it was reviewed twice");
for (const { remote_receipt_id, delegation_hash } of delegations) {
  const { delegated_by } = await receiptOf(remote, remote_receipt_id);
  assert.equal(delegated_by?.delegation_hash, delegation_hash);
}
console.log("Both servers have receipts of the same delegations.");

/** What the check reads of a receipt. */
interface Delegated {
  delegations?: { delegation_hash: string; remote_receipt_id: string }[];
  delegated_by?: { delegation_hash: string };
}

async function receiptOf(of: ExampleServer, id: string): Promise<Delegated> {
  const receipt = (await (await of.fetch(`/v1/receipts/${id}`)).json()) as { metadata: Delegated };
  return receipt.metadata;
}
