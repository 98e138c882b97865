import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fitsBehind, harmless, harmlessJson, harmlessLine, inFours, quoted } from "./terminal.ts";

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
      assert.equal(harmless(`a${character}b`), `a\\u{${name}}b`, name);
      const line = harmlessLine(`a${character}b`);
      assert.ok(!line.includes(character), name);
      const json = harmlessJson({ text: `a${character}b` });
      assert.match(json, /^[\x20-\x7e]+$/, name);
      assert.deepEqual(JSON.parse(json), { text: `a${character}b` }, "the value is the same");
    }
  });

  test("given ordinary text in many scripts, when it is written, then it stays as it is", () => {
    for (const text of [
      "plain",
      "naïve – „quoted“ …",
      "日本語 العربية עברית",
      "👍 ✅",
      "⚠️ careful",
      "two\nlines",
    ]) {
      assert.equal(harmless(text), text);
    }
    assert.equal(harmless("a\r\nb\tc"), "a\nb    c");
    assert.equal(harmlessLine("a\r\n b\u2028c\t\td"), "a b c d");
    assert.equal(harmlessLine("abcdef", 4), "abc…");
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
