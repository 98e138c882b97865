/**
 * What to describe of a value that does not fit its schema. Describing takes tens of microseconds for each item of a union, so of a long list
 * only its length or its first wrong item is described. Unions are left to the validator, apart from lists and objects that may be null.
 */

import type { TSchema } from "typebox";
import { Compile } from "typebox/schema";

/** Longer lists are not described whole. */
const describedItemsMax = 20;

interface Shape {
  type?: string;
  anyOf?: TSchema[];
  properties?: Record<string, TSchema>;
  items?: TSchema;
  maxItems?: number;
  maxProperties?: number;
}

export interface Narrowed {
  schema: TSchema;
  value: unknown;
  /** Where it stands in the whole value, as a JSON pointer. */
  path: string;
}

/** The smallest part that is wrong, with less in it than there was. */
export function narrow(schema: TSchema, value: unknown, path = ""): Narrowed {
  const { properties = {}, items }: Shape = schema;
  if (typeof value !== "object" || value === null || exceeds(schema, value))
    return { schema: withoutContent(schema, value), value, path };
  const meant = meantOf(schema, value);
  if (meant !== null) return narrow(meant, value, path);
  if (Array.isArray(value)) {
    const at =
      items === undefined || value.length <= describedItemsMax ? -1 : value.findIndex(isWrong(items));
    if (items === undefined || at === -1) return { schema, value: cut(value), path };
    return narrow(items, value[at], `${path}/${at}`);
  }
  const members = new Map<string, unknown>(Object.entries(value));
  for (const [name, inner] of Object.entries(properties)) {
    const member = members.get(name);
    if (cut(member) !== member && isWrong(inner)(member)) return narrow(inner, member, `${path}/${name}`);
  }
  return { schema, value: cut(value), path };
}

/** Of a union, the only variant that is a list as the value is, or an object. */
function meantOf(schema: TSchema, value: object): TSchema | null {
  const { anyOf = [] }: Shape = schema;
  const type = Array.isArray(value) ? "array" : "object";
  const [only = null, ...others] = anyOf.filter((variant: Shape) => variant.type === type || variant.anyOf);
  return others.length === 0 ? only : null;
}

/** More items or members than it may have: nothing else is worth saying. */
function exceeds(schema: TSchema, value: object): boolean {
  const { maxItems = Number.POSITIVE_INFINITY, maxProperties = Number.POSITIVE_INFINITY }: Shape = schema;
  return Array.isArray(value) ? value.length > maxItems : Object.keys(value).length > maxProperties;
}

/** Only what is said of the list or the object itself. */
function withoutContent(schema: TSchema, value: unknown): TSchema {
  if (typeof value !== "object" || value === null) return schema;
  const { type, maxItems, maxProperties }: Shape = Object(schema);
  return { type, ...(maxItems === undefined ? { maxProperties } : { maxItems }) };
}

function isWrong(schema: TSchema): (value: unknown) => boolean {
  return (value) => !compiledOf(schema).Check(value);
}

const compiled = new WeakMap<TSchema, ReturnType<typeof Compile>>();

/** A server has hundreds of schemas and most are never asked: compiled for the first value, not at the start. */
export function compiledOf(schema: TSchema): ReturnType<typeof Compile> {
  const known = compiled.get(schema) ?? Compile(schema);
  compiled.set(schema, known);
  return known;
}

/** The same value with the beginnings of its long lists; the very same when it has none. */
function cut(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  if (Array.isArray(value)) {
    const items = value.slice(0, describedItemsMax).map(cut);
    const isSame = items.length === value.length && items.every((item, n) => item === value[n]);
    return isSame ? value : items;
  }
  const members = entries.map(([name, member]) => [name, cut(member)] as const);
  return members.every(([, member], n) => member === entries[n]?.[1]) ? value : Object.fromEntries(members);
}
