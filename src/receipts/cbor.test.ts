/** CBOR: one sequence of bytes for one receipt, and no other is read. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cases } from "../../test/runner/seed.ts";
import { sampleBody, sampleReceipt, signed } from "../../test/support/receipt-samples.ts";
import { decodeReceipt, encodeReceipt } from "./cbor.ts";
import { newSigningKey } from "./keys.ts";
import { verifyReceipt } from "./verify.ts";

const { key } = newSigningKey();
const receipt = sampleReceipt(key);

describe("receipts as CBOR", () => {
  test("given a receipt, when it is encoded and decoded, then it is the same and valid", () => {
    const decoded = decodeReceipt(encodeReceipt(receipt));
    assert.deepEqual(decoded, receipt);
    assert(verifyReceipt(decoded, { keys: [key.jwk] }).valid);
  });

  test("REL-BOM a text that begins with a byte order mark survives encoding and decoding", () => {
    for (const text of ["\uFEFF", "\uFEFFabc", `\uFEFF${"x".repeat(100)}`]) {
      const metadata = { "": { "": { "": [text], [text]: 1 } } };
      const original = signed({ ...sampleBody(key.kid), metadata }, key);
      assert.deepEqual(decodeReceipt(encodeReceipt(original)), original);
    }
  });

  test("any free-form content survives encoding and decoding and keeps its hash", () => {
    // Given any free-form content, when it is encoded and decoded, then it is the same and keeps its hash.
    const metadata = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ stringUnit: "binary" }));
    fc.assert(
      fc.property(metadata, (free) => {
        const original = signed({ ...sampleBody(key.kid), metadata: free }, key);
        const decoded = decodeReceipt(encodeReceipt(original));
        assert.equal(JSON.stringify(sorted(decoded)), JSON.stringify(sorted(original)));
        assert(verifyReceipt(decoded, { keys: [key.jwk] }).valid);
      }),
      { numRuns: cases(300) },
    );
  });

  test("given any order of members, when they are encoded, then the bytes are the same", () => {
    const reversed = Object.assign(
      {},
      ...Object.entries(receipt)
        .reverse()
        .map(([name, value]) => ({ [name]: value })),
    );
    assert.notEqual(JSON.stringify(reversed), JSON.stringify(receipt));
    assert.deepEqual(encodeReceipt(reversed), encodeReceipt(receipt));
  });

  test("encodes names of different lengths in the order of their encoded bytes", () => {
    // Given names of several lengths, when they are encoded, then in the order of their encoded bytes.
    const minimal = { metadata: { bb: 1, a: 2, c: 0.5 } };
    const bytes = Reflect.apply(encodeReceipt, null, [minimal]);
    // {"metadata": {"a": 2, "c": 0.5 in half precision, "bb": 1}}
    assert.equal(Buffer.from(bytes).toString("hex"), "a1686d65746164617461a36161026163f9380062626201");
  });

  const wrong: [string, string][] = [
    ["nothing", ""],
    ["a map of indefinite length", "bf616101ff"],
    ["a text of indefinite length", "7f6161ff"],
    ["an array of indefinite length", "9f01ff"],
    ["an integer longer than it needs to be", "1801"],
    ["a length longer than it needs to be", "780161"],
    ["a float longer than it needs to be", "fb3fe0000000000000"],
    ["a float that is an integer", "f93c00"],
    ["negative zero", "f98000"],
    ["not a number", "f97e00"],
    ["infinity", "f97c00"],
    ["an integer too large", "1bffffffffffffffff"],
    ["undefined", "f7"],
    ["an unknown simple value", "f0"],
    ["a tag", "c074323031332d30332d32315432303a30343a30305a"],
    ["a byte string", "4100"],
    ["bytes after the end", "a16161010"],
    ["a second value after the end", "0101"],
    ["a map that is cut off", "a26161"],
    ["a name twice", "a2616101616102"],
    ["names out of order", "a2616201616102"],
    ["a name that is a number", "a10102"],
    ["text that is not UTF-8", "61ff"],
    ["text with a lone surrogate", "63eda080"],
  ];
  for (const [what, hex] of wrong) {
    test(`given ${what}, when it is decoded, then it is refused`, () => {
      const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `${hex}0`, "hex");
      assert.throws(() => decodeReceipt(bytes));
    });
  }

  test("given any byte of a receipt changed, when it is decoded and verified, then it is seen", () => {
    const bytes = encodeReceipt(receipt);
    assert(isUnseen(bytes));
    fc.assert(
      fc.property(fc.nat({ max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 }), (place, bits) => {
        const changed = Uint8Array.from(bytes);
        changed[place] = (bytes[place] ?? 0) ^ bits;
        assert(!isUnseen(changed));
      }),
      { numRuns: cases(1000) },
    );
  });
});

function isUnseen(bytes: Uint8Array): boolean {
  try {
    return verifyReceipt(decodeReceipt(bytes), { keys: [key.jwk] }).valid;
  } catch {
    return false;
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)]);
}
