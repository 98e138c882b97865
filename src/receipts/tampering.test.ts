/**
 * The promise of verification: no change to a signed receipt goes unseen, in its values or in its text; only the order
 * of members and white space are free.
 *
 * One thing lies outside it, because no signature covers it: the signatures of others than the issuer can be taken
 * away. See `checks.ts`, V3.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { cases } from "../../test/runner/seed.ts";
import { sampleBody, signed } from "../../test/support/receipt-samples.ts";
import { newSigningKey } from "./keys.ts";
import { parseStrictJson } from "./strict-json.ts";
import { verifyReceipt } from "./verify.ts";

const [{ key }, { key: other }] = [newSigningKey(), newSigningKey()];
const keys = [key.jwk, other.jwk];
const receipt: unknown = signed(sampleBody(key.kid), key);
const cosigned: unknown = signed(sampleBody(key.kid), key, other);

type Path = readonly string[];

function isValid(value: unknown): boolean {
  return verifyReceipt(value, { keys }).valid;
}

function paths(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([name, member]) => paths(member, [...path, name]))];
}

function at(value: unknown, path: Path): unknown {
  return path.reduce((inner, name) => Reflect.get(Object(inner), name), value);
}

/** A copy in which what stands at the path is another. */
function changed(value: unknown, path: Path, change: (inner: unknown) => unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return change(value);
  const copy: object = Array.isArray(value) ? [...value] : { ...Object(value) };
  return put(copy, name, changed(at(value, [name]), rest, change));
}

/** Also where an assignment would do something else: `__proto__`. */
function put(object: object, name: string, value: unknown): object {
  return Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

function without(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.toSpliced(Number(name), 1);
  return Object.fromEntries(Object.entries(Object(value)).filter(([member]) => member !== name));
}

const everywhere = paths(receipt);
const objects = everywhere.filter((path) => isObject(at(receipt, path)));
const arrays = everywhere.filter((path) => Array.isArray(at(receipt, path)));

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Something like it, so that the schema alone does not catch it. */
function similar(value: unknown): unknown[] {
  if (typeof value === "number") return [value + 1, value / 2 + 0.25, -value, String(value)];
  if (typeof value === "boolean") return [!value, null];
  if (value === null) return [false, 0, "", {}, `sha256:${"0".repeat(64)}`];
  if (typeof value !== "string") return [];
  const last = value.charCodeAt(value.length - 1) ^ 1;
  return [
    `${value} `,
    value.slice(0, -1) + String.fromCharCode(last),
    value.toUpperCase(),
    "act_auto",
    "task",
    null,
  ];
}

describe("changed values", () => {
  test("the unchanged receipts are valid and cover every kind of member", () => {
    // Given the receipts, when nothing is changed, then they are valid and have every kind of member.
    assert(isValid(receipt) && isValid(cosigned));
    assert(everywhere.length > 150 && objects.length > 40 && arrays.length > 15);
  });

  test("given every place, when its value is replaced by a similar one, then it is never valid", () => {
    for (const path of everywhere) {
      const original = at(receipt, path);
      for (const value of similar(original)) {
        if (!isDeepStrictEqual(value, original))
          assert(!isValid(changed(receipt, path, () => value)), path.join("/"));
      }
    }
  });

  test("given any place, when its value is replaced by any other, then it is never valid", () => {
    const json = fc.jsonValue({ stringUnit: "binary" });
    fc.assert(
      fc.property(fc.constantFrom(...everywhere), json, (path, value) => {
        fc.pre(!isDeepStrictEqual(at(receipt, path), value));
        assert(!isValid(changed(receipt, path, () => value)));
      }),
      { numRuns: cases(1500) },
    );
  });

  test("given every member and item, when it is removed, then it is never valid", () => {
    for (const path of everywhere.slice(1)) {
      const name = path.at(-1) ?? "";
      assert(
        !isValid(changed(receipt, path.slice(0, -1), (parent) => without(parent, name))),
        path.join("/"),
      );
    }
  });

  test("given any object, when a member is added, then it is never valid", () => {
    const known = [...new Set(everywhere.map((path) => path.at(-1) ?? ""))];
    const name = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        "__proto__",
        "constructor",
        "toJSON",
        "signed_at",
        "signatures",
        "receipt_hash",
        ...known,
      ),
    );
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom([], {}, null, "", "2026-05-01T10:00:09Z"));
    fc.assert(
      fc.property(fc.constantFrom(...objects), name, value, (path, added, member) => {
        fc.pre(!Object.hasOwn(Object(at(receipt, path)), added));
        assert(!isValid(changed(receipt, path, (object) => put({ ...Object(object) }, added, member))));
      }),
      { numRuns: cases(2000) },
    );
  });

  test("given every array, when its items are moved, repeated or added to, then it is never valid", () => {
    for (const [value, path] of [
      ...arrays.map((path) => [receipt, path] as const),
      [cosigned, ["signatures"]] as const,
    ]) {
      const items = Object.values(Object(at(value, path)));
      const others = [
        items.toReversed(),
        [...items.slice(1), ...items.slice(0, 1)],
        [...items, ...items.slice(0, 1)],
        [...items.slice(-1), ...items],
        [...items, null],
        [...items, {}],
        [items],
      ];
      for (const array of others) {
        if (!isDeepStrictEqual(array, items))
          assert(!isValid(changed(value, path, () => array)), path.join("/"));
      }
    }
  });

  test("given the parts of two valid receipts, when they are exchanged, then neither is valid", () => {
    const body = sampleBody(key.kid);
    const twin: unknown = signed(
      { ...body, receipt_id: "receipt_8", issued_at: "2026-05-01T11:00:00Z" },
      key,
    );
    assert(isValid(twin));
    for (const name of ["receipt_id", "issued_at", "chain", "signatures"]) {
      assert(!isValid(changed(receipt, [name], () => at(twin, [name]))), name);
    }
  });
});

describe("another order of members", () => {
  test("given the members of all objects in any order, when it is verified, then it is valid", () => {
    const shuffled = (value: unknown, pick: fc.GeneratorValue): unknown => {
      if (Array.isArray(value)) return value.map((item) => shuffled(item, pick));
      if (typeof value !== "object" || value === null) return value;
      const entries = Object.entries(value);
      const order = pick(fc.shuffledSubarray, entries, { minLength: entries.length });
      return Object.fromEntries(order.map(([name, member]) => [name, shuffled(member, pick)]));
    };
    let moved = 0;
    fc.assert(
      fc.property(fc.gen(), (pick) => {
        const other = shuffled(receipt, pick);
        if (JSON.stringify(other) !== JSON.stringify(receipt)) moved += 1;
        assert(isValid(other));
      }),
    );
    assert(moved > 50);
  });
});

describe("changed text", () => {
  const bytes = Buffer.from(JSON.stringify(receipt));

  /** Whether somebody who reads the bytes strictly would take them for a valid receipt that is another. */
  function deceives(text: Uint8Array): boolean {
    let value: unknown;
    try {
      value = parseStrictJson(text);
    } catch {
      return false;
    }
    return isValid(value) && !isDeepStrictEqual(value, receipt);
  }

  function isUnseen(text: Uint8Array): boolean {
    try {
      return isValid(parseStrictJson(text));
    } catch {
      return false;
    }
  }

  test("given the text as it is, when it is read strictly, then it is valid", () => {
    assert(isUnseen(bytes));
  });

  test("given every byte, when a bit of it is flipped, then it is seen", () => {
    for (const [place, byte] of bytes.entries()) {
      const text = Buffer.from(bytes);
      text[place] = byte ^ (1 << (place % 8));
      assert(!isUnseen(text), `${place}`);
    }
  });

  test("given every byte, when it is left out, then it is seen", () => {
    for (const place of bytes.keys()) {
      assert(!isUnseen(Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + 1)])), `${place}`);
    }
  });

  test("detects bytes inserted, replaced or removed anywhere, except white space", () => {
    // Given any place, when bytes are put in, replaced or left out, then it is seen, unless it is white space.
    const part = fc.oneof(
      fc.uint8Array({ maxLength: 2 }),
      fc.constantFrom(
        ...['"', "\\", ",", "0", "-", ".", "e", " ", "\n", "}", "]"].map((text) => Buffer.from(text)),
      ),
    );
    fc.assert(
      fc.property(fc.nat({ max: bytes.length }), fc.nat({ max: 2 }), part, (place, removed, added) => {
        const text = Buffer.concat([bytes.subarray(0, place), added, bytes.subarray(place + removed)]);
        assert(!deceives(text));
      }),
      { numRuns: cases(2000) },
    );
  });

  test("given any member, when it is written a second time with another value, then it is seen", () => {
    const text = bytes.toString();
    const names = [...text.matchAll(/"[a-z_]+":/g)];
    assert(names.length > 100);
    for (const { 0: name, index } of names) {
      assert(!isUnseen(Buffer.from(`${text.slice(0, index)}${name}0,${text.slice(index)}`)), name);
    }
  });
});
