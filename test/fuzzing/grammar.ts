/** Requests by the grammar of the API's own description: valid ones, and valid ones with a change somewhere. */

import type { Json } from "../support/client.ts";

export type Random = () => number;

const depthMax = 5;
const itemsMax = 3;

export function pick<T>(random: Random, from: readonly T[]): T | undefined {
  return from[Math.floor(random() * from.length)];
}

/** Strings that have meant trouble to somebody. */
const strings = [
  ...[
    "",
    " ",
    "a",
    "0",
    "-1",
    "null",
    "true",
    "__proto__",
    "constructor",
    "../../etc/passwd",
    "%00",
    "\u0000",
  ],
  ...[
    "\ud800",
    "\u202e",
    "é".repeat(300),
    "x".repeat(5000),
    "2026-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999Z",
  ],
  ...[
    "evt_9999999999999999",
    "task_00000000000000000000000000",
    "https://example.com/",
    "*/5 * * * *",
    "text/plain",
  ],
];
const numbers = [0, -0, 1, -1, 0.5, 255, 2 ** 31, 2 ** 53, -(2 ** 53), 1e308, Number.MIN_VALUE];

/** Something that a schema takes, as far as it says. `known` are ids that exist. */
export function exampleOf(schema: Json, random: Random, known: readonly string[], depth = 0): Json {
  if (schema === undefined || schema === true || depth > depthMax) return pick(random, strings);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return pick(random, schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return exampleOf(pick(random, choices), random, known, depth + 1);
  if (schema.allOf !== undefined)
    return Object.assign({}, ...schema.allOf.map((one: Json) => exampleOf(one, random, known, depth + 1)));
  switch (schema.type) {
    case "object":
      return objectOf(schema, random, known, depth);
    case "array": {
      const count = Math.max(schema.minItems ?? 0, Math.floor(random() * itemsMax));
      return Array.from({ length: count }, () => exampleOf(schema.items, random, known, depth + 1));
    }
    case "integer":
      return (schema.minimum ?? 0) + Math.floor(random() * 10);
    case "number":
      return random() * 100;
    case "boolean":
      return random() < 0.5;
    case "null":
      return null;
    default:
      return random() < 0.5 ? pick(random, known) : pick(random, strings);
  }
}

function objectOf(
  { properties = {}, required = [] }: Json,
  random: Random,
  known: readonly string[],
  depth: number,
): Json {
  const members: [string, Json][] = [];
  for (const [name, schema] of Object.entries<Json>(properties)) {
    if (!required.includes(name) && random() < 0.6) continue;
    members.push([name, exampleOf(schema, random, known, depth + 1)]);
  }
  return Object.fromEntries(members);
}

/** The same with one change somewhere: replaced, taken away, doubled, wrapped, renamed. */
export function changed(value: Json, random: Random): Json {
  const isInner = typeof value === "object" && value !== null && random() < 0.8;
  if (!isInner) return odd(value, random);
  const copy = Array.isArray(value) ? [...value] : { ...value };
  const name = pick(random, Object.keys(copy));
  if (name === undefined) return odd(value, random);
  const how = random();
  if (how < 0.5) copy[name] = changed(copy[name], random);
  else if (how < 0.65) delete copy[name];
  else if (how < 0.8) copy[pick(random, strings) ?? ""] = copy[name];
  else if (how < 0.9) copy[name] = [copy[name], copy[name]];
  else copy[name] = { [name]: copy[name] };
  return copy;
}

function odd(value: Json, random: Random): Json {
  const others = [pick(random, strings), pick(random, numbers), null, [], {}, true, [value], deep(random)];
  return pick(random, others);
}

function deep(random: Random): Json {
  let value: Json = {};
  for (let n = Math.floor(random() * 200); n > 0; n--) value = random() < 0.5 ? [value] : { a: value };
  return value;
}

export function odds(random: Random): string {
  return pick(random, strings) ?? "";
}
