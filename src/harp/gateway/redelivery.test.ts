/** When a message is told again. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isDueAgain, timesAgain } from "./redelivery.ts";

const delays = { redeliverMs: 15_000, redeliverMsMax: 300_000 };

test("HARP-77 redelivers after 15 seconds, doubling the delay up to five minutes", () => {
  // Given a message that nobody acknowledges, when time passes, then it is told again after 15 seconds, twice as long
  // each time, and every five minutes in the end.
  const seconds = [15, 45, 105, 225, 465, 765, 1065, 1365];
  for (const [index, at] of seconds.entries()) {
    assert.equal(timesAgain(at * 1000 - 1, delays), index, `before ${at}`);
    assert.equal(timesAgain(at * 1000, delays), index + 1, `at ${at}`);
  }
});

test("HARP-77 a message is due only when one of its times passed since the last look", () => {
  // Given looks at any times, when one of the message's times has passed since the last look, and only then, it is due.
  const times: number[] = [];
  for (let [at, delay] = [15_000, 15_000]; at < 12_000_000; at += delay) {
    times.push(at);
    delay = Math.min(delay * 2, 300_000);
  }
  fc.assert(
    fc.property(fc.nat(5_000_000), fc.nat(5_000_000), fc.nat(600_000), (toldMs, waitedMs, stepMs) => {
      const sinceMs = toldMs + waitedMs;
      const nowMs = sinceMs + stepMs;
      const isPassed = times.some((at) => toldMs + at > sinceMs && toldMs + at <= nowMs);
      assert.equal(isDueAgain(toldMs, { sinceMs, nowMs }, delays), isPassed);
    }),
  );
});
