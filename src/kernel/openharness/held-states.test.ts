/** Secret state in memory: as long as it is held, and not longer. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldStates } from "./held-states.ts";

/** A clock that a test moves. */
function handClock() {
  const clock = { ms: 0, now: () => clock.ms };
  return clock;
}

test("OPH-17 a held state is found only for its run and until it expires", () => {
  // Given states of runs, when they are looked for, then each is there for its run and its time.
  const clock = handClock();
  const held = new HeldStates(clock, 1000);
  held.keep("task_a", "h1", { one: 1 }, 10);
  clock.ms = 500;
  held.keep("task_b", "h1", { two: 2 }, 10);
  assert.deepEqual(held.find("task_a", "h1"), { one: 1 });
  assert.equal(held.find("task_a", "h2"), undefined);
  clock.ms = 1000;
  assert.equal(held.find("task_a", "h1"), undefined);
  assert.deepEqual(held.find("task_b", "h1"), { two: 2 });
  held.forget("task_b");
  assert.equal(held.find("task_b", "h1"), undefined);
});

test("OPH-17 evicts the oldest states by count per run, by total count and by size", () => {
  // Given more than is held, when more comes, then the oldest goes: of a run, of all, and by size.
  const clock = handClock();
  const held = new HeldStates(clock, 1_000_000);
  for (let n = 0; n < 6; n++) held.keep("task_a", `h${n}`, { n }, 1);
  assert.equal(held.find("task_a", "h1"), undefined);
  assert.deepEqual(held.find("task_a", "h5"), { n: 5 });
  for (let n = 0; n < 1000; n++) held.keep(`task_${n}`, "h", { n }, 1);
  assert.equal(held.find("task_a", "h5"), undefined);
  assert.deepEqual(held.find("task_999", "h"), { n: 999 });
  held.keep("task_large", "h", {}, 16 * 1024 * 1024);
  assert.equal(held.find("task_999", "h"), undefined);
  assert.deepEqual(held.find("task_large", "h"), {});
});
