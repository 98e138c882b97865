import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import { checker } from "./validate.ts";

const check = checker(
  Type.Object({
    ids: Type.Union([Type.Array(Type.String(), { maxItems: 100 }), Type.Null()]),
    names: Type.Optional(Type.Union([Type.Array(Type.String()), Type.String()])),
    either: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Array(Type.Number())])),
  }),
);
const many = (count: number, last: unknown = "x") => [...Array.from({ length: count - 1 }, () => "x"), last];

test("REL-R11 a long list that may be null or something else is refused with its field and reason", () => {
  for (const [value, message] of [
    [{ ids: many(101) }, "ids must not have more than 100 items."],
    [{ ids: many(90, 7) }, "ids[89] must be string."],
    [{ ids: null, names: many(90, 7) }, "names[89] must be string."],
    [{ ids: null, either: many(90, 7) }, "either[89] must be string."],
  ] as const) {
    assert.throws(() => check(value), { code: "invalid_request", message });
  }
  assert.doesNotThrow(() => check({ ids: many(100), either: many(100) }));
});
