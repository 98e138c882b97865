/** Reading and writing the members of objects, for the two forms of 0.3. */

import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { InvalidParams } from "../errors.ts";

export function refused(field: string, description: string): InvalidParams {
  return new InvalidParams([{ field, description }]);
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectAt(value: JsonValue | undefined, field: string): JsonObject {
  if (isObject(value)) return value;
  throw refused(field, "must be an object");
}

export function listAt(value: JsonValue, field: string): JsonValue[] {
  if (Array.isArray(value)) return value;
  throw refused(field, "must be a list");
}

/** A member by its name or by that name in snake_case, as protobuf allows. null is as good as none. */
export function member(object: JsonObject, name: string): JsonValue | undefined {
  return own(object, name) ?? own(object, snakeCase(name)) ?? undefined;
}

/** Only the object's own: a name like `constructor` finds nothing. */
function own(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The members of these names, as they are. */
export function members(object: JsonObject, names: readonly string[]): JsonObject {
  return defined(Object.fromEntries(names.map((name) => [name, member(object, name)])));
}

/** The object without the members that are not there. */
export function defined(object: Record<string, JsonValue | undefined>): JsonObject {
  const there: JsonObject = {};
  for (const [name, value] of Object.entries(object)) {
    if (value !== undefined) there[name] = value;
  }
  return there;
}

/** A text, list or object with something in it, else nothing: 0.3 leaves out what is empty. */
export function filled<T extends string | JsonValue[] | JsonObject>(value: T | undefined): T | undefined {
  if (value === undefined) return undefined;
  const isEmpty = typeof value === "object" ? Object.keys(value).length === 0 : value === "";
  return isEmpty ? undefined : value;
}
