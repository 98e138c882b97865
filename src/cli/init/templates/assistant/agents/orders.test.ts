import assert from "node:assert/strict";
import { test } from "node:test";
import { rehearse } from "bridle/testing";
import orders from "./orders.ts";

const persona = { autonomy_tier: "act_auto", approval_policy: { ask_from: "high" } } as const;
const models = [
  { toolCalls: [{ name: "order_find", input: { order: "A-1" } }] },
  { toolCalls: [{ name: "order_refund", input: { order: "A-1", cents: 4900 } }] },
  "It is on its way back to you.",
];

test("a refund is paid once somebody approved it", async () => {
  const run = await rehearse(orders, {
    input: "Please refund A-1.",
    persona,
    models,
    people: { approvals: [true] },
  });
  assert.equal(run.output, "It is on its way back to you.");
  assert.equal(run.approvals[0]?.action, "refund 49.00 for A-1");
});

test("nothing is paid without an approval", async () => {
  const run = await rehearse(orders, { input: "Please refund A-1.", persona, models });
  assert.equal(run.waitingFor?.what, "refund 49.00 for A-1");
});
