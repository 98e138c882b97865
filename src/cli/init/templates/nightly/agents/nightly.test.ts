import assert from "node:assert/strict";
import { test } from "node:test";
import { rehearse } from "bridle/testing";
import nightly from "./nightly.ts";

const files = {
  "sales/porto.csv": "item,sold\nlamps,3\nchairs,4\n",
  "sales/berlin.csv": "item,sold\nlamps,5\n",
};

test("the report adds up all shops, wherever the process dies on the way", async () => {
  const run = await rehearse(nightly, {
    input: "",
    files,
    now: "2026-03-01T02:00:00Z",
    crashEverywhere: true,
  });
  assert.match(run.files["reports/2026-03-01.md"] ?? "", /12 in 2 shops, 12 more than last time/);
});
