/** JSON values from outside, and how to look into them without believing them. */

import { type ShellError, shellError } from "./errors.ts";

export type Json = string | number | boolean | null | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

export function parseJson(text: string, what: string): Json {
  try {
    // What JSON.parse gives is JSON by definition.
    return JSON.parse(text) as Json;
  } catch (error) {
    throw shellError("malformed_response", `${what} is not JSON.`, { origin: "engine", cause: error });
  }
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An own member, so that no name reaches what every object inherits. */
export function member(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export function malformed(path: string, expected: string): ShellError {
  return shellError(
    "malformed_response",
    `The engine's response is malformed: ${path} must be ${expected}.`,
    {
      origin: "engine",
      details: { path },
    },
  );
}

export function requireObject(value: Json | undefined, path: string): JsonObject {
  if (isObject(value)) return value;
  throw malformed(path, "an object");
}

/** Null counts as left out, as many engines write it that way. */
export function optionalObject(value: Json | undefined, path: string): JsonObject | undefined {
  return value === undefined || value === null ? undefined : requireObject(value, path);
}

export function optionalList(value: Json | undefined, path: string, itemsMax: number): Json[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw malformed(path, "an array");
  if (value.length > itemsMax) throw malformed(path, `an array of at most ${itemsMax} items`);
  return value;
}

export function requireText(value: Json | undefined, path: string, charsMax: number): string {
  if (typeof value !== "string" || value === "") throw malformed(path, "a string that is not empty");
  if (value.length > charsMax) throw malformed(path, `a string of at most ${charsMax} characters`);
  return value;
}

export function optionalText(value: Json | undefined, path: string, charsMax: number): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  return requireText(value, path, charsMax);
}

export function optionalBoolean(value: Json | undefined, path: string): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "boolean") throw malformed(path, "true or false");
  return value;
}

export function optionalNumber(value: Json | undefined, path: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number" || value < 0) throw malformed(path, "a number that is not negative");
  return value;
}
