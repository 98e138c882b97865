/** The canonical form: byte for byte as published, one for each value, and none for what platforms write differently. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { cases } from "../../../test/runner/seed.ts";
import { v1Text, v2Text } from "../../../test/support/approval-samples.ts";
import { canonicalBytes, canonicalText, hexOf, nestingMax, parseCanonical, sha256Hex } from "./canonical.ts";
import { HarpError } from "./harp-error.ts";

const refused = { code: "HARP_ERR_CANONICALIZATION" };

/**
 * Names that a careless writer loses or misplaces, beside any others. None with a backslash: once it has met one, the
 * engine's own parser misreads escaped names of other objects (nodejs/node#63785), which the last test here is about.
 */
const name = fc
  .oneof(
    fc.string({ maxLength: 6 }),
    fc.nat({ max: 120 }).map(String),
    fc.constantFrom("__proto__", "constructor", "toJSON", "", "é", "\ufb33", "\u2028", "a.b", '"'),
  )
  .filter((each) => !each.includes("\\"));
const leaf = fc.oneof(
  fc.maxSafeInteger(),
  fc.string({ unit: "binary" }),
  fc.constantFrom('\u2028\u0007\b\n"\\/', "\\ud800", "😀"),
  fc.boolean(),
  fc.constant(null),
);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    leaf,
    fc.array(tie("json"), { maxLength: 5 }),
    fc.dictionary(name, tie("json"), { maxKeys: 20, size: "small" }),
  ),
}));

/** The same value, its members in another order, and with white space. */
function rearranged(value: unknown): string {
  if (typeof value !== "object" || value === null) return ` ${JSON.stringify(value)}\n`;
  if (Array.isArray(value)) return `[\t${value.map(rearranged).join(" ,")} ]`;
  const members = Object.entries(value).reverse();
  return `{ ${members.map(([key, member]) => `${JSON.stringify(key)} :${rearranged(member)}`).join(",\r\n")}}`;
}

describe("canonical form", () => {
  test("HARP-1 the published artifact and decision serialize to their published bytes", () => {
    // Given the published artifact and decision, when they are written, then in their bytes.
    for (const [published, length] of [
      [v1Text, 483],
      [v2Text, 319],
    ] as const) {
      const bytes = canonicalBytes(JSON.parse(rearranged(JSON.parse(published))));
      assert.equal(bytes.length, length);
      assert.deepEqual(bytes, new Uint8Array(Buffer.from(published)));
    }
  });

  test("HARP-2 member order and white space do not change the bytes, which have no white space", () => {
    // Given any value, when its members and white space are moved, then its bytes stay, without any.
    fc.assert(
      fc.property(json, (value) => {
        const text = canonicalText(value);
        assert.equal(canonicalText(JSON.parse(rearranged(value))), text);
        assert.equal(text.replaceAll(/"(?:[^"\\]|\\.)*"/gs, "").search(/\s|\ufeff/), -1);
      }),
      { numRuns: cases(1000) },
    );
  });

  test("HARP-3 the edge example serializes to the published bytes and hash", async () => {
    // Given the edge example, when it is written, then its bytes and its hash are the published ones.
    const value: unknown = JSON.parse(
      String.raw`{"b":[true,false,null,-1,0,9007199254740991],"a":"\u0000\b\t\n\f\r\u001f\"\\/\u007f<>&\u20ac\u2028\ud83d\ude00","A":{},"":[],"a.b":1,"\u00e9":"e\u0301"}`,
    );
    const bytes = canonicalBytes(value);
    assert.equal(bytes.length, 125);
    assert.equal(
      hexOf(bytes),
      "7b22223a5b5d2c2241223a7b7d2c2261223a225c75303030305c625c745c6e5c665c725c75303031665c225c5c2f7f3c3e26e282ace280a8f09f9880222c22612e62223a312c2262223a5b747275652c66616c73652c6e756c6c2c2d312c302c393030373139393235343734303939315d2c22c3a9223a2265cc81227d",
    );
    assert.equal(await sha256Hex(bytes), "77d8547b1a22b7652fb05e80223f4810b6f29e0d955b3012d674cafa50018014");
  });

  const unspeakable: [string, unknown][] = [
    ["a float", 1.5],
    ["an integer above the safe ones", 2 ** 53],
    ["an integer below the safe ones", -(2 ** 53)],
    ["not a number", Number.NaN],
    ["infinity", Number.POSITIVE_INFINITY],
    ["a lone high surrogate", "a\ud800"],
    ["a lone low surrogate", "\udc00a"],
    ["a name with a lone surrogate", { "\ud800": 1 }],
    ["a name with a pair of surrogates", { "😀": 1 }],
    ["undefined", undefined],
    ["a member that is undefined", { a: undefined }],
    ["an item that is undefined", [undefined]],
    ["a hole in an array", new Array(1)],
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["a bigint", 1n],
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["bytes", new Uint8Array(1)],
    ["a boxed number", Object(1)],
  ];
  for (const [what, value] of unspeakable) {
    test(`HARP-4 given ${what}, anywhere, when it is to be written, then it is refused`, () => {
      for (const around of [value, [value], { a: { b: [1, value] } }]) {
        assert.throws(() => canonicalText(around), refused);
      }
    });
  }

  test("HARP-5 given a member that is null and none, when they are hashed, then differently", async () => {
    assert.equal(canonicalText({ a: null }), '{"a":null}');
    assert.notEqual(await sha256Hex(canonicalBytes({ a: null })), await sha256Hex(canonicalBytes({})));
  });

  test("given any value, when it is written, then as another implementation does", () => {
    fc.assert(
      fc.property(json, (value) => assert.equal(canonicalText(value), canonicalize(value))),
      { numRuns: cases(1000) },
    );
  });

  test("given a member that is called __proto__, when it is written, then it is kept", () => {
    const text = '{"__proto__":{"a":1},"b":2}';
    assert.equal(canonicalText(JSON.parse(text)), text);
  });

  test("given minus zero, when it is written, then as zero", () => {
    assert.equal(canonicalText([-0]), "[0]");
  });

  test("given a value as deep as may be, or deeper, when it is written, then only the first is", () => {
    const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));
    assert.equal(canonicalText(nested(nestingMax)).length, 2 * nestingMax);
    assert.throws(() => canonicalText(nested(nestingMax + 1)), refused);
    assert.throws(() => canonicalText(nested(100_000)), refused);
  });
});

describe("reading the canonical form", () => {
  test("given any value, when its bytes are read, then it comes back", () => {
    fc.assert(
      fc.property(json, (value) => {
        const read = parseCanonical(canonicalBytes(value));
        assert.equal(canonicalText(read), canonicalText(value));
      }),
    );
  });

  const other: [string, string | number[]][] = [
    ["white space", '{"a": 1}'],
    ["a line break at the end", '{"a":1}\n'],
    ["another order", '{"b":1,"a":2}'],
    ["a name twice", '{"a":1,"a":1}'],
    ["a needless escape", '"\\u0041"'],
    ["an escaped slash", '"\\/"'],
    ["capital letters in an escape", '"\\u001F"'],
    ["a fraction of zero", "1.0"],
    ["an exponent", "1e2"],
    ["minus zero", "-0"],
    ["a byte order mark", "\ufeff{}"],
    ["text that is cut off", '{"a":1'],
    ["nothing", ""],
    ["an overlong encoding", [0x22, 0xc0, 0x80, 0x22]],
    ["bytes that are not UTF-8", [0x22, 0xff, 0x22]],
    ["an encoded surrogate", [0x22, 0xed, 0xa0, 0x80, 0x22]],
  ];
  for (const [what, form] of other) {
    test(`given ${what}, when the bytes are read, then they are refused`, () => {
      const bytes = typeof form === "string" ? new TextEncoder().encode(form) : new Uint8Array(form);
      assert.throws(() => parseCanonical(bytes), refused);
    });
  }

  test("a name that the engine's parser misreads is never read as another value", () => {
    // Given a name that the engine's parser misreads, when the bytes are read, then not as another value.
    JSON.parse('{"misread":1,"\\\\":2}');
    const text = '{"misread":1,"\\"":2}';
    let read: unknown;
    try {
      read = parseCanonical(new TextEncoder().encode(text));
    } catch (error) {
      assert.equal(error instanceof HarpError && error.code, refused.code);
      return;
    }
    assert.deepEqual(read, { misread: 1, '"': 2 });
  });
});
