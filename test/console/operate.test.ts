/** What the pages for operators work out by themselves: latencies from counters, and forms from the server's schemas. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  bucketsOf,
  bucketsSince,
  quantileOf,
  readMetrics,
  sumOf,
} from "../../console/src/pages/operate/prometheus.ts";
import { commandIn, diffIn } from "../../console/src/parts/judged.ts";
import { changedFields, filledIn, formFor, readForm } from "../../console/src/parts/schema-form.ts";

const page = (fast: number, slow: number) => `# HELP took How long it took.
# TYPE took histogram
took_bucket{le="0.1",route="/a \\"quoted\\""} ${fast}
took_bucket{le="1",route="/a \\"quoted\\""} ${fast + slow}
took_bucket{le="+Inf",route="/a \\"quoted\\""} ${fast + slow}
took_count{route="/a \\"quoted\\""} ${fast + slow}
bytes{file="database"} 4.2e+06
bytes{file="wal"} 1000
`;

test("CON-10 commands are shown as one line that no other looks like, and changes of texts as diffs", () => {
  assert.equal(commandIn("argv", ["rm", "-rf", "/tmp/a b", "it's"]), "rm -rf '/tmp/a b' 'it'\\''s'");
  assert.notEqual(commandIn("argv", ["rm a"]), commandIn("argv", ["rm", "a"]));
  assert.equal(commandIn("argv", ["rm", 7]), null);
  assert.equal(commandIn("words", ["rm"]), null);
  assert.equal(diffIn({ old_string: "one\ntwo", new_string: "two" }), "-one\n-two\n+two");
  assert.equal(diffIn("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y"), "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y");
  assert.equal(diffIn("a text + more"), null);
  assert.equal(diffIn(`@@ -1 +1 @@\n${"+x\n".repeat(3000)}`), null, "too long to be shown whole");
});

describe("the pages for operators", () => {
  test("CON-17 counters are read, and latencies are those between two looks", () => {
    const [before, now] = [readMetrics(page(100, 0)), readMetrics(page(110, 10))];
    assert.equal(sumOf(now, "bytes"), 4_201_000);
    assert.equal(sumOf(now, "bytes", { file: "wal" }), 1000);
    assert.equal(sumOf(now, "took_count", { route: '/a "quoted"' }), 120);
    const since = bucketsSince(bucketsOf(before, "took"), bucketsOf(now, "took"));
    assert.equal(quantileOf(since, 0.5), 0.1);
    const p95 = quantileOf(since, 0.95) ?? 0;
    assert.ok(p95 > 0.85 && p95 < 1, String(p95));
    assert.equal(quantileOf(bucketsSince(since, since), 0.5), null);
  });

  const schema = {
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string", maxLength: 20 },
      tools: { type: "array", items: { type: "string" } },
      owner: { anyOf: [{ type: "string", maxLength: 20 }, { type: "null" }] },
      policy: {
        type: "object",
        properties: {
          model: { type: "string" },
          strict: { type: "boolean" },
          allowed: { type: "array", items: { type: "string" } },
        },
      },
      tier: { enum: ["low", "high"] },
      extra: { type: "object" },
    },
  };
  const form = formFor(schema);
  const dataOf = (values: Record<string, string>) => {
    const data = new FormData();
    for (const [name, value] of Object.entries(values)) data.set(`field:${name}`, value);
    return data;
  };

  test("CON-17 a form has what the server's schema says, and gives it back as JSON", () => {
    assert.deepEqual(
      form.fields.map(({ type }) => type),
      ["text", "lines", "text", "group", "choice", "json"],
    );
    const values = { name: "Ada", tools: ["a", "b"], policy: { model: "x/y" } };
    const [, tools, , policy] = form.fields;
    assert.ok(tools !== undefined && policy?.fields[0] !== undefined);
    assert.equal(filledIn(tools, values), "a\nb");
    assert.equal(filledIn(policy.fields[0], values), "x/y");
    assert.deepEqual(
      readForm(form, dataOf({ name: "Ada", tools: "a\n\n b ", "policy/model": "x/y", tier: "" })),
      {
        name: "Ada",
        tools: ["a", "b"],
        policy: { model: "x/y", strict: false },
      },
    );
    assert.throws(() => readForm(form, dataOf({ name: "Ada", extra: "{" })), /"extra" must be JSON/);
  });

  test("CON-17 a change names what changed; an emptied list allows nothing, and is told from none", () => {
    const before = { name: "Ada", tools: ["a"], owner: "ops", policy: { strict: false, model: "x/y" } };
    assert.deepEqual(changedFields(form, before, { name: "Ada", policy: { model: "x/y", strict: false } }), [
      { name: "tools", was: ["a"], is: [] },
      { name: "owner", was: "ops", is: null },
    ]);
    assert.deepEqual(changedFields(form, { name: "Ada" }, { name: "Ada", policy: { strict: false } }), []);
    assert.deepEqual(changedFields(form, { name: "Ada" }, { name: "Ada", tools: [] }), [
      { name: "tools", was: undefined, is: [] },
    ]);
    const [inGroup] = changedFields(
      form,
      { policy: { model: "x/y", allowed: ["x/y"] } },
      { policy: { model: "x/z" } },
    );
    assert.deepEqual(inGroup?.is, { model: "x/z", allowed: [] });
  });
});
