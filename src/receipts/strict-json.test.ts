/** Strict JSON: what can be read in one way only is read, everything else is refused. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cases } from "../../test/runner/seed.ts";
import { parseStrictJson, parseUnambiguousJson } from "./strict-json.ts";

const json = fc.jsonValue({ stringUnit: "binary", depthSize: "medium" });

/** White space anywhere between tokens. */
function spaced(text: string, space: string): string {
  return text.replace(/("(?:[^"\\]|\\.)*")|([{}[\],:])/gs, (token) => `${space}${token}${space}`);
}

/** What the text consists of, whatever its order and white space: another way to tell that nothing was lost in parsing. */
function tokens(text: string): string[] {
  return (text.match(/"(?:[^"\\]|\\.)*"|[-+.eE\d]+|[^\s"]/gs) ?? []).sort();
}

function isSpelledAsWritten(text: string, value: unknown): boolean {
  const again = JSON.stringify(value);
  const isWellFormed = text.isWellFormed() && !/\\ud[89a-f]/.test(again.replaceAll("\\\\", ""));
  return isWellFormed && tokens(text).join("\n") === tokens(again).join("\n");
}

/** What is read, or nothing where the text is refused. */
function read(parse: (text: string) => unknown, text: string): { value: unknown } | undefined {
  try {
    return { value: parse(text) };
  } catch (error) {
    assert(error instanceof SyntaxError);
    return undefined;
  }
}

function isJson(text: string): boolean {
  return read(JSON.parse, text) !== undefined;
}

describe("strict JSON", () => {
  test("given any value with white space anywhere, when it is read, then it is the value", () => {
    const space = fc.string({ unit: fc.constantFrom(" ", "\n", "\r", "\t"), maxLength: 3 });
    fc.assert(
      fc.property(json, space, (value, between) => {
        const plain = JSON.stringify(value);
        const text = spaced(plain, between);
        assert.equal(JSON.stringify(parseStrictJson(text)), plain);
        assert.equal(JSON.stringify(parseStrictJson(Buffer.from(text))), plain);
      }),
      { numRuns: cases(2000) },
    );
  });

  test("accepts mutated JSON text only if nothing is lost or respelled", () => {
    // Given a text of JSON changed at a few places, when it is read, then only if nothing was lost or respelled.
    const snippet = fc.constantFrom(
      ...[
        '"',
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "0",
        "1",
        "-",
        ".",
        "e",
        "E",
        "+",
        " ",
        "u",
        "/",
        "\\u0041",
      ],
      ...[
        '"a":1,',
        '"a":1',
        ',"a":1',
        "-0",
        "1.0",
        "\\/",
        "\\ud800",
        "\\\\",
        "\\n",
        "null",
        "\ud800",
        "\u00e9",
      ],
    );
    const edit = fc.record({
      at: fc.nat(),
      remove: fc.nat({ max: 2 }),
      insert: fc.option(snippet, { nil: "" }),
    });
    const base = fc.oneof(
      json.map((value) => JSON.stringify(value)),
      fc.constantFrom(
        '{"a":1,"b":{"a":2,"c":["a:","\\"a\\":1"]}}',
        "[10,0.5,1e+30]",
        '{"a\\\\":"\\\\","b":{}}',
      ),
    );
    let [accepted, refused] = [0, 0];
    fc.assert(
      fc.property(base, fc.array(edit, { minLength: 1, maxLength: 3 }), (original, edits) => {
        const text = edits.reduce((before, { at, remove, insert }) => {
          const place = at % (before.length + 1);
          return before.slice(0, place) + insert + before.slice(place + remove);
        }, original);
        const strictly = read(parseStrictJson, text);
        // The plain parser confuses some names with escapes, so it is asked only about what was refused.
        const either = strictly ?? read(JSON.parse, text);
        const expected = either !== undefined && isSpelledAsWritten(text, either.value);
        if (either !== undefined && expected) accepted += 1;
        if (either !== undefined && !expected) refused += 1;
        assert.equal(strictly !== undefined, expected, text);
      }),
      { numRuns: cases(20_000) },
    );
    // Both kinds have to have been met for this to prove anything.
    assert(accepted > 100 && refused > 100, `${accepted} accepted, ${refused} refused`);
  });

  test("reads an escaped name as written after the engine has parsed a similar one", () => {
    // Given a name with an escape where the engine has met another, when it is read, then it is the one that is written.
    for (const [before, text, name] of [
      ['{"\\\\":1}', '{"\\n":1}', "\n"],
      ['{"a":1,"\\\\n":2}', '{"a":1,"\\nx":2}', "\nx"],
      ['{"\\\\":1}', '[{"__proto__":{"\\"":1}}]', '"'],
    ] as const) {
      for (let again = 0; again < 3; again += 1) parseStrictJson(before);
      const value = parseStrictJson(text);
      assert.equal(JSON.stringify(value), text);
      assert(JSON.stringify(value).includes(JSON.stringify(name)));
    }
  });

  test("rejects a duplicate name at any depth and names it", () => {
    // Given an object with a name twice, at any depth, when it is read, then it is refused by that name.
    const wrap = fc.array(fc.constantFrom("array", "object", "beside"), { maxLength: 6 });
    const unit = fc.string({ unit: "binary", maxLength: 5 });
    fc.assert(
      fc.property(unit, json, json, wrap, (name, first, second, around) => {
        const key = JSON.stringify(name);
        const doubled = `{${key}:${JSON.stringify(first)} , "${"x"}y":{} , ${key} :${JSON.stringify(second)}}`;
        const text = around.reduce((inner, kind) => {
          if (kind === "array") return `[0,${inner}]`;
          return kind === "object" ? `{${key}:${inner}}` : `{"a":{${key}:1},"b":${inner}}`;
        }, doubled);
        assert(isJson(text));
        assert.throws(() => parseStrictJson(text), /comes twice/);
      }),
    );
    assert.throws(
      () => parseStrictJson('{"__proto__":1,"__proto__":1}'),
      /"__proto__" at position 15 comes twice/,
    );
  });

  test("accepts the same name in sibling and nested objects", () => {
    // Given the same name in objects beside or within each other, when they are read, then they are accepted.
    const text = '{"a":{"a":[{"a":"a"},{"a":"\\"a\\":"}]},"b":{"a":1},"\\"a":":","a:":1}';
    assert.deepEqual(parseStrictJson(text), JSON.parse(text));
  });

  const respelled: [string, string][] = [
    ["a whole number with a fraction", "1.0"],
    ["an exponent that is not needed", "[1e0]"],
    ["an exponent in capitals", "1E+30"],
    ["an exponent without its sign", "1e30"],
    ["digits that are lost", "0.10000000000000000555"],
    ["a number too large to be exact", "12345678901234567890"],
    ["a number too large for any form", "1e400"],
    ["a number too small for any form", '{"a":1e-400}'],
    ["negative zero", '{"a":[-0]}'],
    ["negative zero with a fraction", "-0.0"],
    ["an escaped letter", '"\\u0041"'],
    ["an escaped letter in a name", '{"\\u0061":1}'],
    ["an escaped slash", '["\\/"]'],
    ["a long escape where there is a short one", '"\\u000a"'],
    ["an escape in capitals", '"\\u001F"'],
    ["an escaped pair of surrogates", '"\\ud83d\\ude00"'],
    ["an escaped lone surrogate", '"\\ud800"'],
    ["an escaped lone surrogate in a name", '{"\\udc00":1}'],
    ["a bare lone surrogate", '"\ud800"'],
  ];
  for (const [what, text] of respelled) {
    test(`given ${what}, when it is read, then it is refused though it is JSON`, () => {
      assert(isJson(text));
      assert.throws(() => parseStrictJson(text), SyntaxError);
    });
  }

  test("given what is not JSON, when it is read, then it is refused", () => {
    for (const text of [
      "",
      " ",
      "{",
      "{'a':1}",
      "[1,]",
      "01",
      "NaN",
      '"\n"',
      "\ufeff{}",
      "{} {}",
      "undefined",
    ]) {
      assert.throws(() => parseStrictJson(text), SyntaxError);
    }
  });

  test("rejects bytes that are not UTF-8 or begin with a byte order mark", () => {
    // Given bytes that are not UTF-8 or begin with a mark, when they are read, then they are refused.
    const wrong = [
      [0x22, 0xff, 0x22],
      [0x22, 0xc0, 0x80, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0xef, 0xbb, 0xbf, 0x31],
    ];
    for (const bytes of wrong) assert.throws(() => parseStrictJson(Uint8Array.from(bytes)), SyntaxError);
  });

  test("given a long and deeply nested document, when it is read, then in reasonable time", () => {
    const deep = `${"[".repeat(5000)}${"]".repeat(5000)}`;
    assert(Array.isArray(parseStrictJson(deep)));
    const long = JSON.stringify({ text: '\\"'.repeat(500_000), plain: "x".repeat(1_000_000) });
    assert.deepEqual(parseStrictJson(long), JSON.parse(long));
  });

  test("the error for a fault in a long string is short and gives the position", () => {
    // Given a fault in a long string, when it is refused, then the message is short and says where.
    assert.throws(
      () => parseStrictJson(`[1, "${"x".repeat(500)}\\/"]`),
      (error: Error) => error.message.includes("position 4") && error.message.length < 250,
    );
  });
});

describe("JSON in anybody's spelling", () => {
  test("reads any value the same however its numbers and strings are spelled", () => {
    // Given any value, however its numbers and texts are spelled, when it is read, then it is that value.
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value, null, 1);
        assert.deepEqual(parseUnambiguousJson(text), JSON.parse(text));
      }),
    );
    const spelled = '{"a":1.0,"b":-0,"c":1e2,"d":"\\/\\u00e9","\\u0065":0.10}';
    assert.deepEqual(parseUnambiguousJson(spelled), { a: 1, b: -0, c: 100, d: "/é", e: 0.1 });
  });

  test("given a name that comes twice, however it is spelled, when it is read, then it is refused", () => {
    const twice = [
      '{"a":1,"a":1}',
      '{"a":1,"\\u0061":2}',
      '[{"x":{"\\n":1,"\\u000a":2}}]',
      '{"__proto__":1,"__proto__":2}',
    ];
    for (const text of twice) assert.throws(() => parseUnambiguousJson(text), SyntaxError, text);
    assert.deepEqual(parseUnambiguousJson('[{"a":1},{"a":{"a":2}}]'), [{ a: 1 }, { a: { a: 2 } }]);
  });

  test("given half a character, or what is no JSON, when it is read, then it is refused", () => {
    for (const text of ['"\\ud800"', '{"\\udc00":1}', "{", "", '{"a":1}}', "NaN", '{"a":01}']) {
      assert.throws(() => parseUnambiguousJson(text), SyntaxError, text);
    }
  });
});
