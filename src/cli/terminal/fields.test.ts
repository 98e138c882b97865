/** Answers to questions with a schema, from what a person types. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { answerIn, fieldsOf, hintFor, promptFor, typedValue } from "./fields.ts";

const object = (properties: object, required: string[] = []) => ({
  type: "object",
  properties: { ...properties },
  required,
});

test("SHL-42 a line typed for an answer of one part becomes that part", () => {
  // Given a question whose answer has one part, when a line is typed, then it is that part.
  const schema = object({ name: { type: "string" } }, ["name"]);
  assert.deepEqual(answerIn("v0.2.0", schema), { name: "v0.2.0" });
  assert.deepEqual(answerIn('{"name":"x","more":1}', schema), { name: "x", more: 1 });
  assert.deepEqual(
    answerIn("7", schema),
    { name: "7" },
    "what looks like a number is text where text is wanted",
  );
  assert.equal(answerIn("many", object({ count: { type: "integer" } })), null);
});

test("SHL-42 an answer of several parts or of no object takes JSON and guesses nothing", () => {
  // Given a question whose answer has several parts or is no object, when a line is typed, then JSON is taken and
  // nothing is guessed.
  const two = object({ a: { type: "string" }, b: { type: "number" } });
  assert.equal(answerIn("x", two), null);
  assert.deepEqual(answerIn('{"a":"x","b":1}', two), { a: "x", b: 1 });
  assert.deepEqual(answerIn("[1,2]", { type: "array" }), [1, 2]);
  assert.equal(answerIn("plain", { type: "string" }), "plain");
  assert.equal(answerIn("plain", { type: "array" }), null);
  assert.equal(fieldsOf(object({ deep: object({}) })), null);
  assert.equal(fieldsOf({ type: "object" }), null);
});

test("SHL-42 the prompt for a part says what fits and accepts only that", () => {
  // Given the parts of an answer, when they are asked for, then the prompt says what fits and only that is taken.
  const [region, count, sure] =
    fieldsOf(
      object({ region: { enum: ["eu", "us"] }, count: { type: "integer" }, sure: { type: "boolean" } }, [
        "region",
      ]),
    ) ?? [];
  assert.ok(region && count && sure);
  assert.equal(promptFor(region), "region (eu/us):");
  assert.equal(promptFor(sure), "sure (y/n), or nothing:");
  assert.deepEqual([typedValue(region, "eu"), typedValue(region, "mars")], ["eu", null]);
  assert.deepEqual(
    ["3", "3.5", "x", ""].map((text) => typedValue(count, text)),
    [3, null, null, null],
  );
  assert.deepEqual(
    ["y", "No", "perhaps"].map((text) => typedValue(sure, text)),
    [true, false, null],
  );
  assert.match(
    hintFor(object({ a: { type: "string" }, b: { type: "number" } })) ?? "",
    /a, or nothing; b \(number\)/,
  );
  assert.equal(hintFor({ type: "string" }), null);
});
