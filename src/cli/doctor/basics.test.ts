import assert from "node:assert/strict";
import { test } from "node:test";
import { clock, nodeVersion } from "./basics.ts";

test("DOC-4 only versions of Node.js that are too old are a problem", () => {
  // Given versions of Node.js, when they are compared with what is needed, then only those that are too old are a
  // problem.
  const status = (version: string) => nodeVersion(version, ">=24").status;
  assert.deepEqual(["22.18.0", "24.0.0", "26.1.0", "100.0.0"].map(status), ["problem", "ok", "ok", "ok"]);
  assert.match(nodeVersion("8.1.0", ">=24").advice ?? "", /24 or newer/);
});

test("DOC-4 a clock behind the newest event or in an impossible year is a problem", () => {
  // Given a clock and the newest event, when the event is later or the year cannot be, then the clock is a problem.
  const now = Date.parse("2026-11-01T12:00:00Z");
  const status = (newestAt: string | null) => clock(now, newestAt).status;
  assert.equal(status(null), "ok");
  assert.equal(status("2026-11-01T11:59:59Z"), "ok");
  assert.equal(status("2026-11-01T12:00:02Z"), "ok");
  assert.equal(status("2026-11-01T12:01:00Z"), "problem");
  assert.match(clock(now, "2026-11-01T12:01:00Z").message, /60 seconds later/);
  assert.equal(clock(0, null).status, "problem");
  assert.equal(clock(Date.parse("2150-01-01T00:00:00Z"), null).status, "problem");
});
