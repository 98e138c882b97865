import assert from "node:assert/strict";
import { test } from "node:test";
import { rehearse } from "bridle/testing";
import publisher from "./publisher.ts";

const persona = { autonomy_tier: "act_with_approval" } as const;

test("a notice is published as it was approved", async () => {
  const run = await rehearse(publisher, {
    input: "We move on Friday.",
    persona,
    people: { answers: ["Moving day"], approvals: [true] },
  });
  assert.equal(run.output, "Published at https://example.com/notices/moving-day");
  assert.deepEqual(run.approvals[0]?.payload, {
    title: "Moving day",
    notice: "To all: We move on Friday.",
  });
});

test("nothing is published when somebody says no", async () => {
  const run = await rehearse(publisher, {
    input: "We move on Friday.",
    persona,
    people: { answers: ["Moving day"], approvals: [{ approved: false, reason: "too early" }] },
  });
  assert.equal(run.status, "FAILED");
});
