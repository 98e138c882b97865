import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hasTooManyValues, ValueCounter, valuesMax } from "./json-values.ts";

test("REL-R11 strings hold no values, however they are escaped and wherever pieces are cut", () => {
  const texts = ['"', "\\", '\\"', ",[{", "é", '\\\\",['];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...texts)), fc.integer({ min: 1, max: 7 }), (parts, size) => {
      const item = JSON.stringify(parts.join(""));
      // One value fewer than too many, then one more.
      for (const [count, isOver] of [
        [valuesMax, false],
        [valuesMax + 1, true],
      ] as const) {
        const bytes = Buffer.from(`[${item}${",1".repeat(count - 1)}]`);
        const counter = new ValueCounter();
        // Cut small at first, where the string is.
        for (let at = 0; at < 200; at += size) counter.add(bytes.subarray(at, Math.min(at + size, 200)));
        counter.add(bytes.subarray(200));
        assert.equal(counter.isOver, isOver);
      }
    }),
    { numRuns: 50 },
  );
});

test("REL-R11 long texts are few values, many short ones are too many", () => {
  assert.equal(hasTooManyValues(Buffer.from(JSON.stringify(",[{".repeat(100_000)))), false);
  assert.equal(hasTooManyValues(Buffer.from(`[${"{},".repeat(100_000)}{}]`)), true);
});
