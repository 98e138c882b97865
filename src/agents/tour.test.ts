/** The agent of the tour, with a script of the test in the place of its own. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { rehearse } from "../testing/index.ts";
import { tour } from "./tour.ts";

const options = {
  input: { proofread_ms: 0 },
  models: [{ toolCalls: [{ name: "tour_today", input: {} }] }, "Three things are better."],
  people: { answers: [{ name: "Harvest" }], approvals: [true] },
};

test("TOU-1 an approved tour does what was approved and ends the same after any crash", async () => {
  // Given a person who says yes, when the tour is cut off after each record, then it ends alike, with what was approved
  // done.
  const run = await rehearse(tour, { ...options, crashEverywhere: true });
  assert.match(String(run.output), /^Harvest is published, with 3 changes in 4 words\./);
  assert.equal(run.models[0]?.model, "tour/guide");
  const [approval] = run.approvals;
  assert.deepEqual(
    [approval?.action, approval?.risk, approval?.payload],
    ["publish Harvest", "high", { name: "Harvest", notes: "Three things are better.", words: 4 }],
  );
  assert.deepEqual(
    run.journal.map(({ key }) => key).filter((key) => /^(?:step|llm|tool|effect):/.test(key)),
    [
      "step:collect:1",
      "llm:draft:1",
      "tool:tour.today:1",
      "llm:draft:2",
      "step:proofread:1",
      "effect:publish:1",
    ],
  );
  assert.deepEqual(
    run.artifacts.map(({ name }) => name),
    ["release-notes.md"],
  );
});

test("TOU-1 a denied tour publishes nothing and says so", async () => {
  // Given a person who says no, when the tour asks for the approval, then nothing is published and it says so.
  const run = await rehearse(tour, { ...options, people: { ...options.people, approvals: [false] } });
  assert.equal(run.output, "Harvest was not published: a person said no.");
  assert.ok(!run.journal.some(({ kind }) => kind === "effect"));
});
