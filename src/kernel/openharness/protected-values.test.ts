/** Which values of secret state are looked for, and which would take the record apart. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { protectedValues } from "./protected-values.ts";

const now = Date.parse("2026-11-17T12:00:00Z");
const record = JSON.stringify({ id: "task_01M7NJ50JNDR7YDQZYGME0S6JV", agent: { name: "bookkeeper" } });

test("OPH-16 protects secret values at any depth", () => {
  // Given values of every kind, when they are chosen, then secrets are protected at any depth.
  const state = {
    password: "correcthorse",
    phrase: "a few words",
    card: 4111111111111111,
    list: [{ key: "lower_case_words" }, "2019-05-17"],
  };
  assert.deepEqual(protectedValues(state, record, now), [
    "correcthorse",
    "a few words",
    4111111111111111,
    "lower_case_words",
    "2019-05-17",
  ]);
});

test("OPH-16 does not protect short values and words of the record", () => {
  // Given what is short or a word of the record, when it is chosen from, then it is left alone.
  const words = [
    ...["abc", "1234567", 42, true, null, ""],
    ...[
      "completed",
      "COMPLETED",
      "metadata",
      "restricted",
      "session_id",
      "act_with_approval",
      "task.completed",
    ],
    ...[
      "bookkeeper",
      "task_01M7",
      "01M7NJ50",
      "01M7NJ99",
      "task_01M8",
      "evt_0000",
      "00000000",
      "0000000000000012",
    ],
    ...["2026-11-17", "2026-12-24", "2026-11-17T12:00", "2026-11-17T12:00:00.000Z", "2025-01-01"],
  ];
  assert.deepEqual(protectedValues(words, record, now), []);
});
