/** The clock that a rehearsal moves. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { MovedClock } from "./clock.ts";

test("TST-3 moving time fires the due timers in order, and none that was stopped", () => {
  // Given timers, when time is moved, then those that are due are told in their order, and none that was stopped.
  const clock = new MovedClock(1000);
  const told: string[] = [];
  clock.setTimer(() => told.push("late"), 300);
  clock.setTimer(() => told.push("later"), 900);
  const stopLast = clock.setTimer(() => told.push("stopped by another"), 400);
  clock.setTimer(() => {
    told.push("early");
    stopLast();
  }, 100);
  clock.setTimer(() => told.push("stopped"), 50)();
  assert.equal(clock.nextTimer, 1100);
  clock.moveTo(1500);
  assert.deepEqual([told, clock.now(), clock.nextTimer], [["early", "late"], 1500, 1900]);
  clock.moveTo(1200);
  assert.equal(clock.now(), 1500);
});
