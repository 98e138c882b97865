import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cases } from "../../../test/runner/seed.ts";
import { isKnown, isSame, rangeOf } from "./ranges.ts";

/** RFC 9110, section 14.1.2, byte by byte: which of them a single range asks for. */
function askedFor(size: number, first: number | null, last: number | null): number[] {
  const all = Array.from({ length: size }, (_, n) => n);
  if (first === null) return last === 0 ? [] : all.slice(-(last ?? 0));
  return all.filter((n) => n >= first && (last === null || n <= last));
}

const position = fc.option(fc.nat(40));

test("UPL-2 a single range returns exactly the requested bytes", () => {
  // Given any single range, when it is read, then it is exactly the bytes that were asked for.
  fc.assert(
    fc.property(fc.nat(30), position, position, (size, first, last) => {
      fc.pre(first !== null || last !== null);
      const found = rangeOf(`bytes=${first ?? ""}-${last ?? ""}`, size);
      if (first !== null && last !== null && last < first) return assert.equal(found, "whole");
      if (size === 0 && first === null && last !== 0) return assert.equal(found, "whole");
      const asked = askedFor(size, first, last);
      if (asked.length === 0) return assert.equal(found, "unsatisfiable");
      assert.ok(typeof found === "object");
      assert.deepEqual([found.start, found.end - 1], [asked[0], asked.at(-1)]);
    }),
    { numRuns: cases(2000) },
  );
});

test("UPL-2 given what is no single range of bytes, when it is read, then it is the whole", () => {
  const others = [
    undefined,
    "",
    "bytes=-",
    "bytes=0-1,3-4",
    "lines=1-2",
    "bytes=a-b",
    "bytes=1",
    "0-1",
    "bytes=1-2x",
  ];
  for (const header of others) assert.equal(rangeOf(header, 10), "whole", String(header));
});

test("UPL-2 matches conditions against the tag, with lists and weak tags where allowed", () => {
  // Given conditions, when they are compared with the tag, then lists and weak tags count where they may.
  for (const header of ['"a"', 'W/"a"', '"b", "a"', "*"]) assert.ok(isKnown(header, '"a"'), header);
  for (const header of [undefined, '"b"', "a", '"a'] as const)
    assert.ok(!isKnown(header, '"a"'), String(header));
  assert.ok(isSame(undefined, '"a"') && isSame('"a"', '"a"'));
  for (const header of ['W/"a"', '"b"', "*", "Mon, 16 Nov 2026 03:00:00 GMT"])
    assert.ok(!isSame(header, '"a"'));
});
