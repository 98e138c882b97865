import assert from "node:assert/strict";
import { test } from "node:test";
import { Redactor } from "./redact.ts";
import { redactLong, searchHere } from "./search-budget.ts";

const line =
  'password="hunter2hunter2x9" api_key: sk-abc123DEF456GHI789 and prose about a token, quiet-words-here\n';
const values = {
  "one long text": line.repeat(2000),
  "many short texts": Array.from({ length: 1000 }, (_, n) => `${line}${n}`),
  "names, texts and layers": {
    [line.repeat(1000)]: { password: "x".repeat(100_000), text: line.repeat(3000) },
    layers: `quiet-pass-words-here-words-here ${line.repeat(1500)}`,
  },
};

for (const [name, value] of Object.entries(values)) {
  test(`REL-R11 ${name}: another thread replaces the same secrets as this one`, async () => {
    const redactor = new Redactor(["quiet-words-here", "-pass-words-here"]);
    const counts: number[] = [];
    const found = await redactLong(
      async (texts) => {
        counts.push(texts.length);
        return await searchHere(texts);
      },
      redactor,
      (metered) => metered.value(value),
    );
    assert.deepEqual(found, redactor.value(value));
    assert.notDeepEqual(found, value);
    assert.ok(counts.length >= 1 && counts.length <= 4, `searched ${counts.length} times`);
    // What is known now is not searched again, also where names of members are remembered.
    assert.deepEqual(new Redactor(["quiet-words-here"]).value(found), found);
  });
}
