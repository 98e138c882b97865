/** One spelling for the same bytes, and no other is read. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cases } from "../../../test/runner/seed.ts";
import { decodeBase64url, encodeBase64url } from "./base64url.ts";

const malformed = { code: "HARP_ERR_TRANSPORT" };

describe("base64url", () => {
  test("any bytes encode as in another implementation and decode to the same bytes", () => {
    // Given any bytes, when they are encoded, then as another implementation does, and they come back.
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (bytes) => {
        const text = encodeBase64url(bytes);
        assert.equal(text, Buffer.from(bytes).toString("base64url"));
        assert.deepEqual([...decodeBase64url(text)], [...bytes]);
        assert.deepEqual([...decodeBase64url(text, bytes.length)], [...bytes]);
      }),
    );
  });

  test("decoding accepts only the one canonical spelling of the bytes", () => {
    // Given any text, when it is read, then it is the one spelling of what was read, or it is refused.
    const character = fc.constantFrom(..."AQgw_-+/= \nz");
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 12 }), (text) => {
        let bytes: Uint8Array;
        try {
          bytes = decodeBase64url(text);
        } catch {
          return;
        }
        assert.equal(encodeBase64url(bytes), text);
      }),
      { numRuns: cases(5000) },
    );
  });

  const refused: [string, string][] = [
    ["nothing", ""],
    ["padding", "_w=="],
    ["the standard alphabet", "+/+/"],
    ["white space", "AA AA"],
    ["a line break at the end", "AAAA\n"],
    ["a character alone", "AAAAA"],
    ["bits behind the last byte", "_x"],
    ["letters that only look right", "ＡＡＡＡ"],
  ];
  for (const [what, text] of refused) {
    test(`given ${what}, when it is read, then it is refused`, () => {
      assert.throws(() => decodeBase64url(text), malformed);
    });
  }

  test("given a number of bytes, when the text has others, then it is refused", () => {
    assert.equal(decodeBase64url("AAAA", 3).length, 3);
    assert.throws(() => decodeBase64url("AAAA", 4), malformed);
    assert.throws(() => decodeBase64url("AAAA", 2), malformed);
  });
});
