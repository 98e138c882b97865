/** Checks what a client sent against its schema. An optional member that is null is as good as absent: many clients write both. */

import type { Static, TSchema } from "typebox";
import { checker } from "../validate.ts";

export function harpChecker<S extends TSchema>(schema: S): (value: unknown) => Static<S> {
  const check = checker(schema);
  return (value) => check(withoutNulls(schema, value));
}

function withoutNulls(schema: object, value: unknown): unknown {
  const { properties, required }: { properties?: unknown; required?: unknown } = schema;
  if (properties === undefined || typeof value !== "object" || value === null || Array.isArray(value))
    return value;
  const known = new Map<string, object>(Object.entries(Object(properties)));
  const needed = new Set([required].flat());
  const isLeftOut = ([name, member]: [string, unknown]) =>
    member === null && known.has(name) && !needed.has(name);
  return Object.fromEntries(
    Object.entries(value)
      .filter((entry) => !isLeftOut(entry))
      .map(([name, member]) => [name, withoutNulls(known.get(name) ?? {}, member)]),
  );
}
