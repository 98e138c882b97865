/**
 * Some seeds of the simulation (`npm run simulate` plays as many as one likes). Its own process: time and chance of the whole process are
 * the machine's while it runs.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isThorough, seed } from "./runner/seed.ts";
import { describe, planOf } from "./simulation/plan.ts";
import { simulate } from "./simulation/simulation.ts";

const seeds = isThorough ? 5000 : 100;

test("SIM-1 whatever fails at any step, all that was accepted comes to its end once", async (t) => {
  let events = 0;
  for (let n = 0; n < seeds; n++) {
    const plan = planOf(seed * 1_000_000 + n);
    const outcome = await simulate(plan);
    events += outcome.events;
    const repeat = `npm run simulate -- --seeds 1 --seed ${plan.seed}`;
    assert.equal(outcome.problem, null, `${repeat}\n${outcome.problem?.stack}\n${describe(plan)}`);
  }
  t.diagnostic(`${seeds} seeds, ${events} events`);
});

test("SIM-2 the same seed gives the same log, byte for byte", async () => {
  const plan = planOf(3);
  const [first, again] = [await simulate(plan), await simulate(plan)];
  assert.deepEqual(again.digest, first.digest);
  assert.deepEqual(again.steps, first.steps);
});
