/** What is written about metrics is what there is. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { pino } from "pino";
import { Registry } from "prom-client";
import { catalogue } from "../../src/telemetry/metrics/definitions.ts";
import { createMetrics } from "../../src/telemetry/metrics/metrics.ts";

const read = (page: string) => readFileSync(new URL(`../../docs/${page}`, import.meta.url), "utf8");

test("MET-9 the documented metrics and those of a server are the same, each once", async () => {
  // Given the list of metrics, when it is compared with what a server has, then each is there once, in both.
  const listed = [...read("reference/metrics.md").matchAll(/^\| `(bridle_\w+)`/gm)].map(([, name]) => name);
  const known = catalogue.map(({ name }) => name);
  assert.deepEqual(listed, known);
  assert.equal(new Set(known).size, known.length);
  // A registry of its own: nothing is left in the one that all of a process share.
  createMetrics({ logger: pino({ level: "silent" }), version: "1" });
  const { register } = await import("prom-client");
  assert.ok(register instanceof Registry);
  assert.deepEqual(register.getMetricsAsArray(), []);
});

test("MET-9 every metric and label that operators are told to look at exists", () => {
  // Given what operators are told to look at, when its names are looked up, then each metric and each label is there.
  const page = read("operations/monitoring.md");
  const names = new Set(catalogue.map(({ name }): string => name));
  const mentioned = [...page.matchAll(/\b(bridle_[a-z_]+)\b(?:\{([^}]*)\})?/g)];
  assert.ok(mentioned.length > 20);
  for (const [, name = "", selector = ""] of mentioned) {
    const base = names.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "");
    const found = catalogue.find((each) => each.name === base);
    assert.ok(found !== undefined, name);
    for (const [, label = ""] of selector.matchAll(/(\w+)=/g))
      assert.ok(found.labels.includes(label), `${name} ${label}`);
  }
});
