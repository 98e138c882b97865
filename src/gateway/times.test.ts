/** Which texts are points in time. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { instantOf } from "./times.ts";

test("HARP-87 given times as RFC 3339 writes them, when they are read, then each is its point in time", () => {
  for (const text of [
    "2026-02-24T10:00:00Z",
    "2026-02-24T10:00:00.5Z",
    "2024-02-29T23:59:59.123Z",
    "2026-02-24T10:00:00+05:30",
    "2026-02-24T10:00:00-08:00",
    "0026-01-01T00:00:00Z",
  ]) {
    assert.equal(instantOf(text), Date.parse(text), text);
  }
  assert.equal(instantOf("2026-02-24T10:00:00.123999999Z"), Date.parse("2026-02-24T10:00:00.123Z"));
});

test("HARP-87 given texts that look like times, when they are read, then they are none", () => {
  for (const text of [
    "",
    "2026-02-24",
    "2026-02-24T10:00:00",
    "2026-02-24t10:00:00Z",
    "2026-02-24T10:00:00z",
    "2026-02-24 10:00:00Z",
    "2026-02-30T10:00:00Z",
    "2025-02-29T10:00:00Z",
    "2026-13-01T10:00:00Z",
    "2026-00-01T10:00:00Z",
    "2026-02-24T24:00:00Z",
    "2026-02-24T10:60:00Z",
    "2026-02-24T10:00:60Z",
    "2026-02-24T10:00:00.Z",
    "2026-02-24T10:00:00.1234567890Z",
    "2026-02-24T10:00:00+0530",
    "2026-02-24T10:00:00+24:00",
    "2026-02-24T10:00:00Z\n",
    "+002026-02-24T10:00:00Z",
  ]) {
    assert.equal(instantOf(text), null, JSON.stringify(text));
  }
});
