/** No fail point is left out of the kill report unseen. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type FailPoint, failPoints } from "../src/store/fail-point.ts";

/** Those that no kill is made at, and why. */
const exempt: Partial<Record<FailPoint, string>> = {};

test("KIL-1 every fail point is killed at in docs/reliability.md, but for those with a reason", () => {
  const report = readFileSync(join(import.meta.dirname, "../docs/reliability.md"), "utf8");
  const kills = new Map(
    [...report.matchAll(/^\| ([a-z.]+) \| (\d+) \| \d+ \|$/gm)].map(([, name, count]) => [
      name,
      Number(count),
    ]),
  );
  const without = failPoints.filter((name) => (kills.get(name) ?? 0) === 0 && exempt[name] === undefined);
  assert.deepEqual(without, [], "run npm run kill-report");
  const needless = failPoints.filter((name) => (kills.get(name) ?? 0) > 0 && exempt[name] !== undefined);
  assert.deepEqual(needless, []);
});
