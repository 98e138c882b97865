/** Our canonical form is that of RFC 8785: by its rules, and by comparison with another implementation. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { cases } from "../../test/runner/seed.ts";
import { canonicalJson } from "../web/canonical-json.ts";
import { hashOf, sha256Of } from "./canonical.ts";
import { parseStrictJson } from "./strict-json.ts";

/** Names that a careless writer misplaces, beside any others. */
const name = fc.oneof(
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.nat({ max: 120 }).map(String),
  fc.constantFrom(
    "__proto__",
    "constructor",
    "toJSON",
    "",
    "-1",
    "01",
    "1.5",
    "\\ud800",
    "é",
    "😀",
    "\ufb33",
  ),
);
const leaf = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.constantFrom(-0, 1e21, 1e-7, 5e-324, Number.MAX_SAFE_INTEGER, 333333333.3333333),
  fc.string({ unit: "binary" }),
  fc.constantFrom('\u2028\u0007\b\n"\\/', "\\ud800"),
  fc.boolean(),
  fc.constant(null),
);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    leaf,
    fc.array(tie("json"), { maxLength: 5 }),
    fc.dictionary(name, tie("json"), { maxKeys: 40, size: "small" }),
  ),
}));

describe("canonical JSON", () => {
  test("given any JSON value, when it is written, then another implementation writes the same", () => {
    fc.assert(
      fc.property(json, (value) => assert.equal(canonicalJson(value), canonicalize(value))),
      { numRuns: cases(3000) },
    );
  });

  test("given an object of many members, when it is written, then they stand in order all the same", () => {
    const many = fc.dictionary(fc.string({ unit: "binary" }), fc.nat(), { minKeys: 20, maxKeys: 60 });
    fc.assert(fc.property(many, (value) => assert.equal(canonicalJson(value), canonicalize(value))));
  });

  test("given any JSON value, when its form is read and written again, then it is the same text", () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = canonicalJson(value);
        assert.equal(canonicalJson(parseStrictJson(text)), text);
      }),
    );
  });

  test("writes the names of an object in code unit order", () => {
    // Given names of all kinds, when an object is written, then they stand in the order of their code units.
    const object = { "\ufb33": 1, "😀": 2, "10": 3, "9": 4, b: 5, "": 6, B: 7, "!": 8 };
    assert.equal(canonicalJson(object), '{"":6,"!":8,"10":3,"9":4,"B":7,"b":5,"😀":2,"\ufb33":1}');
  });

  test("given members that are undefined, when an object is written, then they are left out", () => {
    assert.equal(canonicalJson({ b: undefined, a: 1, "1": undefined }), '{"a":1}');
  });

  test("given an object without a prototype, when it is written, then like others", () => {
    assert.equal(canonicalJson(Object.assign(Object.create(null), { b: 1, a: 2 })), '{"a":2,"b":1}');
  });

  const unspeakable: [string, unknown][] = [
    ["not a number", Number.NaN],
    ["infinity", [Number.NEGATIVE_INFINITY]],
    ["a lone surrogate", { text: "a\ud800" }],
    ["a name with a lone surrogate", { "\udc00": 1 }],
    ["a lone surrogate beside a misplaced name", { "1": "\ud800" }],
    ["a function", { call: () => 1 }],
    ["a symbol", Symbol("s")],
    ["a bigint", 1n],
    ["undefined", undefined],
    ["undefined in an array", [undefined]],
    ["a hole in an array", new Array(1)],
    ["undefined in an array beside a misplaced name", { "1": [undefined] }],
    ["a date", new Date(0)],
    ["a map", new Map([["a", 1]])],
    ["bytes", Buffer.from("a")],
  ];
  for (const [what, value] of unspeakable) {
    test(`given ${what}, when it is to be written, then it is refused`, () => {
      assert.throws(() => canonicalJson(value), TypeError);
    });
  }
});

describe("hashes", () => {
  test("given a text and its bytes, when they are hashed, then alike, as hex with a prefix", () => {
    const expected = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert.equal(sha256Of("abc"), expected);
    assert.equal(sha256Of(Buffer.from("abc")), expected);
  });

  test("given two orders of the same members, when they are hashed, then alike", () => {
    assert.equal(hashOf({ a: 1, b: [2] }), hashOf({ b: [2], a: 1 }));
    assert.equal(hashOf({ a: 1 }), sha256Of('{"a":1}'));
  });
});
