/** The clock that a rehearsal moves. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { MovedClock } from "./clock.ts";

test("TST-3 given timers, when time is moved, then those that are due are told in their order, and none that was stopped", () => {
  const clock = new MovedClock(1000);
  const told: string[] = [];
  clock.setTimer(() => told.push("late"), 300, "wait");
  clock.setTimer(() => told.push("later"), 900, "wait");
  const stopLast = clock.setTimer(() => told.push("stopped by another"), 400, "wait");
  clock.setTimer(
    () => {
      told.push("early");
      stopLast();
    },
    100,
    "wait",
  );
  clock.setTimer(() => told.push("stopped"), 50, "wait")();
  assert.equal(clock.nextTimer, 1100);
  clock.moveTo(1500);
  assert.deepEqual([told, clock.now(), clock.nextTimer], [["early", "late"], 1500, 1900]);
  clock.moveTo(1200);
  assert.equal(clock.now(), 1500);
});

test("TST-3 given a pause in the middle of something, when it is made, then it is over by itself and it is that much later", async () => {
  const clock = new MovedClock(0);
  clock.setTimer(() => assert.fail("it was stopped"), 10, "pause")();
  await new Promise<void>((resolve) => clock.setTimer(resolve, 5000, "pause"));
  assert.equal(clock.now(), 5000);
});
