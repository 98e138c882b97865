/** Text on a terminal: it fits, and it drives nothing. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { plainLineOf, plainText, widthOf, wrap } from "./text.ts";

test("SHL-45 plain text has no control characters and no changes of reading direction", () => {
  // Given any text, when it is made plain, then it has no control characters and nothing that turns the direction of
  // reading.
  const odd = fc.string({
    unit: fc.constantFrom(
      "a",
      " ",
      "\n",
      "\r",
      "\t",
      "\u001b",
      "\u009b",
      "\u202e",
      "\u2066",
      "\u2028",
      "\u0007",
      "é",
    ),
  });
  fc.assert(
    fc.property(fc.oneof(odd, fc.string({ unit: "binary" })), (text) => {
      const plain = plainText(text);
      assert.doesNotMatch(plain, /(?!\n)\p{Cc}|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
      assert.doesNotMatch(plainLineOf(text, 40), /\n/);
    }),
  );
});

test("SHL-51 wrapping keeps every line within the width and loses no word", () => {
  // Given any text, when it is wrapped, then no line is wider than it may be, and no word is lost.
  const words = fc.array(
    fc.constantFrom("a", "word", "漢字", "🙂", "e\u0301", "-", "1.", "x".repeat(50), "\n", "   "),
    {
      maxLength: 60,
    },
  );
  fc.assert(
    fc.property(words, fc.integer({ min: 2, max: 60 }), (list, columns) => {
      const text = list.join(" ");
      const lines = wrap(text, columns);
      for (const line of lines) assert.ok(widthOf(line) <= columns, JSON.stringify(line));
      assert.equal(lines.join("").replaceAll(/\s/g, ""), text.replaceAll(/\s/g, ""));
      assert.ok(widthOf(plainLineOf(text, columns)) <= columns);
    }),
  );
});

test("SHL-51 wrapped lists and indented text keep their indentation", () => {
  // Given lists and indented text, when they are wrapped, then what follows stays below its beginning.
  assert.deepEqual(wrap("- one two three\n  four five six seven", 11), [
    "- one two",
    "  three",
    "  four five",
    "  six seven",
  ]);
  assert.deepEqual(wrap("", 10), [""]);
});
