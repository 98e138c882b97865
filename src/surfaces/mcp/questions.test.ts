import assert from "node:assert/strict";
import { test } from "node:test";
import * as sdk from "@modelcontextprotocol/server";
import type { JsonObject } from "../../store/port.ts";
import { formFor, readQuestionId, writeQuestionId } from "./questions.ts";

function formOf(schema: JsonObject | null) {
  const pending = {
    kind: "input",
    step: "ask:1",
    prompt: "?",
    permission_request_id: null,
    expires_at: "",
  } as const;
  return formFor(sdk, { ...pending, schema });
}

test("turns each kind of question into a form with fields that forms support", () => {
  // Given questions of all kinds, when they are made forms, then a field is what a form can have.
  assert.deepEqual(formOf(null)?.required, ["answer"]);
  assert.deepEqual(formOf({ type: "boolean" })?.properties, { answer: { type: "boolean" } });
  assert.deepEqual(formOf({ enum: ["a", "b"] })?.properties, {
    answer: { type: "string", enum: ["a", "b"] },
  });
  const optional = formOf({ type: "object", properties: { name: { type: "string", maxLength: 5 } } });
  assert.deepEqual(optional, { type: "object", properties: { name: { type: "string", maxLength: 5 } } });
});

test("given a question that no form can ask, when it is made one, then there is none", () => {
  const inner = { type: "object", properties: { deep: { type: "string" } } };
  assert.equal(formOf({ type: "object", properties: { inner } }), null);
  assert.equal(formOf({ type: "array", items: inner }), null);
  assert.equal(formOf({ anyOf: [{ const: 1 }, { const: 2 }] }), null);
});

test("given the name of a question, when it comes back, then it is read; what is none is not", () => {
  const question = { taskId: "task_1", step: "ask:which one:1" };
  assert.deepEqual(readQuestionId(writeQuestionId(question)), question);
  for (const text of [
    "",
    "question",
    "question task_1",
    "other task_1 ask:1",
    7,
    null,
    "question task_1 ".padEnd(2000, "x"),
  ]) {
    assert.equal(readQuestionId(text), null);
  }
});
