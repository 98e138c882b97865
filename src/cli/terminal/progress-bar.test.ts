import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ProgressState, progressLine } from "./progress-bar.ts";

const half: ProgressState = {
  what: "receipts verified",
  done: 500,
  total: 1000,
  unit: "things",
  elapsedMs: 5000,
  columns: 80,
};

describe("Progress", () => {
  test("CMD-57 with a total, the line has a bar, the percentage, the rate and the time left", () => {
    // Given a total, when the line is made, then it has a bar, the percentage, the rate and the time left.
    assert.equal(
      progressLine(half),
      "receipts verified ████████████░░░░░░░░░░░░  50%  500 of 1000  100/s  5 s left",
    );
    const bytes = { ...half, what: "copied", unit: "bytes" as const, done: 3 * 2 ** 20, total: 2 ** 30 };
    assert.match(progressLine(bytes), / 0% {2}3\.0 MiB of 1\.0 GiB {2}614 KiB\/s$/);
    assert.match(progressLine({ ...half, done: 50, elapsedMs: 600_000 }), /3 h 10 min left$/);
    assert.match(progressLine({ ...half, done: 1000 }), /█{24} 100% {2}1000 of 1000 {2}200\/s$/);
  });

  test("CMD-57 given no total, when the line is made, then it counts", () => {
    assert.equal(progressLine({ ...half, total: undefined }), "receipts verified: 500  100/s");
    assert.equal(progressLine({ ...half, total: 0, done: 0 }), "receipts verified: 0  0.0/s");
  });

  test("CMD-57 given a narrow terminal, when the line is made, then it is never longer than that", () => {
    for (let columns = 1; columns < 120; columns++) {
      assert.ok(progressLine({ ...half, columns }).length <= Math.max(1, columns - 1), String(columns));
    }
    assert.match(progressLine({ ...half, columns: 60 }), /^receipts verified {2,3}50%/);
  });
});
