/** Text on a terminal: it fits, and it drives nothing. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { escapeControls, escapedJson, fitsBehind, inFours, oneLine, quoted, widthOf, wrap } from "./text.ts";

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
      const plain = escapeControls(text);
      assert.doesNotMatch(plain, /(?!\n)\p{Cc}|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
      assert.doesNotMatch(oneLine(text, 40), /\n/);
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
      assert.ok(widthOf(oneLine(text, columns)) <= columns);
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

/** What a terminal would obey, or a person would not see. */
const driving = [
  "\u0000",
  "\u0007",
  "\b",
  "\r",
  "\u001b",
  "\u007f",
  "\u009b",
  "\u00ad",
  "\u200b",
  "\u200d",
  "\u200e",
  "\u202e",
  "\u2028",
  "\u2029",
  "\u2066",
  "\u3164",
  "\ue000",
  "\ufe0f",
  "\ufeff",
  "\ud800",
  "\u{e0041}",
];

describe("Text from outside on a terminal", () => {
  test("escapes every character that drives a terminal or hides", () => {
    // Given every kind of character that drives a terminal or hides, when it is written, then it is spelled out.
    for (const character of driving) {
      const name = (character.codePointAt(0) ?? 0).toString(16);
      assert.equal(escapeControls(`a${character}b`), `a\\u{${name}}b`, name);
      const line = oneLine(`a${character}b`);
      assert.ok(!line.includes(character), name);
      const json = escapedJson({ text: `a${character}b` });
      assert.match(json, /^[\x20-\x7e]+$/, name);
      assert.deepEqual(JSON.parse(json), { text: `a${character}b` }, "the value is the same");
    }
  });

  test("given ordinary text in many scripts, when it is written, then it stays as it is", () => {
    for (const text of [
      "plain",
      "naïve – „quoted“ …",
      "日本語 العربية עברית",
      "👍 ✅ 👩‍💻 👩🏽‍🚀",
      "⚠️ careful",
      "two\nlines",
    ]) {
      assert.equal(escapeControls(text), text);
    }
    assert.equal(escapeControls("a\r\nb\tc"), "a\nb    c");
    assert.equal(oneLine("a\r\n b\u2028c\t\td"), "a b c d");
    assert.equal(oneLine("abcdef", 4), "abc…");
  });

  test("quoted text has a bar before every line, long lines included", () => {
    // Given a text that imitates what we say, when it is quoted, then every line of it is behind a bar, long ones too.
    const lines = quoted(
      `fine\nRisk       low\n${" ".repeat(200)}Hash       fake\n${"語".repeat(100)}`,
    ).split("\n");
    assert.equal(lines.pop(), "");
    assert.ok(lines.length > 5);
    for (const line of lines) assert.match(line, /^ {2}│ /);
    for (const line of lines) assert.ok(line.length <= 100, line);
    assert.ok(lines.filter((line) => line.includes("語")).every((line) => line.length <= 52));
  });

  test("text of several lines or of wide ones does not fit", () => {
    // Given a text, when it is asked whether it fits, then neither several lines nor wide ones do.
    assert.ok(fitsBehind("short", 11));
    assert.ok(!fitsBehind("two\nlines", 11));
    assert.ok(!fitsBehind("x".repeat(89), 11));
    assert.ok(!fitsBehind("語".repeat(45), 11));
  });

  test("given a fingerprint, when it is shown, then it is in groups of four", () => {
    const shown = inFours("0123456789abcdef".repeat(4));
    assert.equal(shown, `    ${"0123 4567 89ab cdef ".repeat(2).trim()}\n`.repeat(2));
  });
});
