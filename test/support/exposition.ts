/** A strict reader of Prometheus' text format (0.0.4): what it does not take, a scraper may not take either. */

import assert from "node:assert/strict";

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Family {
  name: string;
  type: string;
  help: string;
  samples: Sample[];
}

const nameForm = /^[a-z][a-z0-9_]*$/;
const sampleForm = /^([a-z][a-z0-9_]*)(?:\{(.*)\})? (-?[0-9.e+-]+|\+Inf|NaN)$/;
const labelForm = /([a-z][a-z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)/y;

export class Exposition {
  readonly families = new Map<string, Family>();

  constructor(text: string) {
    assert.ok(text.endsWith("\n"), "the last line has an end");
    let family: Family = { name: "", type: "", help: "", samples: [] };
    for (const line of text.split("\n")) {
      if (line === "") continue;
      const [, word, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
      if (word === "HELP") {
        assert.match(name, nameForm);
        assert.ok(!this.families.has(name), `${name} is there once`);
        family = { name, type: "", help: rest, samples: [] };
        this.families.set(name, family);
      } else if (word === "TYPE") {
        assert.equal(name, family.name, "the type follows the help");
        assert.ok(["counter", "gauge", "histogram"].includes(rest), line);
        family.type = rest;
      } else {
        assert.ok(family.type !== "", `a sample before its type: ${line}`);
        family.samples.push(readSample(line, family));
      }
    }
    for (const each of this.families.values()) requireSound(each);
  }

  /** All series, each by its name and labels. */
  get series(): Set<string> {
    return new Set([...this.families.values()].flatMap(({ samples }) => samples.map(keyOf)));
  }

  /** The sum of the series whose labels are at least these; 0 when there is none. */
  sum(name: string, labels: Record<string, string> = {}): number {
    const base = name.replace(/_(bucket|sum|count)$/, "");
    const family = this.families.get(name) ?? this.families.get(base);
    assert.ok(family !== undefined, `there is no ${name}`);
    return family.samples
      .filter((sample) => sample.name === name)
      .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
      .reduce((total, { value }) => total + value, 0);
  }
}

function keyOf({ name, labels }: Sample): string {
  return JSON.stringify([name, Object.entries(labels).sort()]);
}

function readSample(line: string, { name: family, type }: Family): Sample {
  const [, name = "", written = "", number = ""] = sampleForm.exec(line) ?? [];
  const names = type === "histogram" ? ["_bucket", "_sum", "_count"].map((end) => family + end) : [family];
  assert.ok(names.includes(name), `not a sample of ${family}: ${line}`);
  const labels: Record<string, string> = {};
  labelForm.lastIndex = 0;
  while (labelForm.lastIndex < written.length) {
    const [, label = "", value = ""] = labelForm.exec(written) ?? assert.fail(`bad labels: ${line}`);
    assert.ok(!(label in labels), `a label twice: ${line}`);
    labels[label] = value;
  }
  return { name, labels, value: number === "+Inf" ? Number.POSITIVE_INFINITY : Number(number) };
}

function requireSound({ name, type, samples }: Family): void {
  assert.equal(new Set(samples.map(keyOf)).size, samples.length, `${name} has no series twice`);
  if (type === "counter")
    assert.ok(
      samples.every(({ value }) => value >= 0),
      name,
    );
  if (type === "histogram") requireHistogram(name, samples);
}

/** Of each histogram: buckets that only grow, the last of them without a bound and equal to the count. */
function requireHistogram(name: string, samples: readonly Sample[]): void {
  for (const { labels, value: count } of samples.filter((sample) => sample.name === `${name}_count`)) {
    const own = samples.filter(({ name: each, labels: { le: _, ...rest } }) => {
      return (
        each === `${name}_bucket` &&
        keyOf({ name, labels: rest, value: 0 }) === keyOf({ name, labels, value: 0 })
      );
    });
    const bounds = own.map((sample) => (sample.labels.le === "+Inf" ? Infinity : Number(sample.labels.le)));
    const counts = own.map(({ value }) => value);
    assert.deepEqual(
      bounds,
      bounds.toSorted((a, b) => a - b),
      name,
    );
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
      name,
    );
    assert.equal(bounds.at(-1), Infinity, name);
    assert.equal(counts.at(-1), count, name);
  }
}
