/** Which texts are points in time, and where they end. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { isExpired, isFromTheFuture, isOver, parseTime, skewMsDefault } from "./times.ts";

describe("times", () => {
  test("given any date, when it is written and read, then it is the same", () => {
    const date = fc.date({
      min: new Date("0000-01-01T00:00:00Z"),
      max: new Date("9999-12-31T23:59:59Z"),
      noInvalidDate: true,
    });
    fc.assert(fc.property(date, (at) => assert.equal(parseTime(at.toISOString()), at.getTime())));
  });

  const accepted: [string, string][] = [
    ["2026-02-21T12:00:00Z", "2026-02-21T12:00:00.000Z"],
    ["2026-02-21T12:00:00.5Z", "2026-02-21T12:00:00.500Z"],
    ["2026-02-21T12:00:00.123456789Z", "2026-02-21T12:00:00.123Z"],
    ["2026-02-21T12:00:00+02:00", "2026-02-21T10:00:00.000Z"],
    ["2026-02-21T22:30:00-05:30", "2026-02-22T04:00:00.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["0026-01-01T00:00:00Z", "0026-01-01T00:00:00.000Z"],
  ];
  for (const [text, instant] of accepted) {
    test(`given ${text}, when it is read, then it is ${instant}`, () => {
      assert.equal(new Date(parseTime(text) ?? Number.NaN).toISOString(), instant);
    });
  }

  const refused = [
    "",
    "2026-02-21",
    "2026-02-21t12:00:00Z",
    "2026-02-21T12:00:00z",
    "2026-02-21 12:00:00Z",
    "2026-02-21T12:00:00",
    "2026-02-21T12:00Z",
    "2026-02-21T12:00:60Z",
    "2026-02-21T24:00:00Z",
    "2026-02-21T12:60:00Z",
    "2026-02-21T12:00:00.Z",
    "2026-02-21T12:00:00.1234567890Z",
    "2026-02-21T12:00:00+0200",
    "2026-02-21T12:00:00+24:00",
    "2026-02-21T12:00:00+02:60",
    "2025-02-29T12:00:00Z",
    "2026-04-31T12:00:00Z",
    "2026-13-01T12:00:00Z",
    "2026-00-01T12:00:00Z",
    "2026-01-00T12:00:00Z",
    "2026-02-21T12:00:00Z\n",
    " 2026-02-21T12:00:00Z",
    "+002026-02-21T12:00:00Z",
    "٢٠٢٦-02-21T12:00:00Z",
  ];
  for (const text of refused) {
    test(`given ${JSON.stringify(text)}, when it is read, then it is no time`, () => {
      assert.equal(parseTime(text), null);
    });
  }

  test("an expiry has a leeway for others and none for the signer", () => {
    // Given an end, when the clock passes it, then there is leeway for others and none for who signs.
    const end = "2026-02-21T12:10:00Z";
    const endMs = Date.parse(end);
    assert.equal(skewMsDefault, 60_000);
    assert.equal(isExpired(end, endMs + 60_000), false);
    assert.equal(isExpired(end, endMs + 60_001), true);
    assert.equal(isExpired(end, endMs + 1, 0), true);
    assert.equal(isOver(end, endMs - 1), false);
    assert.equal(isOver(end, endMs), true);
    assert.equal(isFromTheFuture(end, endMs - 60_000), false);
    assert.equal(isFromTheFuture(end, endMs - 60_001), true);
  });

  test("an unreadable clock or time counts as expired and as from the future", () => {
    // Given a clock or a text that cannot be read, when it is asked, then the answer is the safe one.
    for (const [text, nowMs] of [
      ["2026-02-21T12:10:00Z", Number.NaN],
      ["soon", 0],
    ] as const) {
      assert.equal(isExpired(text, nowMs), true);
      assert.equal(isOver(text, nowMs), true);
      assert.equal(isFromTheFuture(text, nowMs), true);
    }
  });
});
