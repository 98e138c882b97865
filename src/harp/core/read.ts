/**
 * Readers of what came from outside: each takes a value it does not trust and returns it typed, or throws. Objects are
 * closed unless it says otherwise; messages name the place, never the value.
 */

import { decodeBase64url } from "./base64url.ts";
import { HarpError, type HarpErrorCode } from "./harp-error.ts";
import { parseTime } from "./times.ts";

export type Reader<Value> = (value: unknown, at: string) => Value;

type Shape = Record<string, Reader<unknown>>;
type ReadOf<Members extends Shape> = { [Name in keyof Members]: ReturnType<Members[Name]> };

/** As long as any id may be. */
const idLengthMax = 128;

/** Exactly these members: the first all there, the second where they are, and no others. */
export function closed<Required extends Shape, Optional extends Shape = Record<never, never>>(
  required: Required,
  optional?: Optional,
): Reader<ReadOf<Required> & Partial<ReadOf<Optional>>> {
  const readers = new Map<string, Reader<unknown>>(Object.entries({ ...required, ...optional }));
  return (value, at) => {
    const members = object(value, at);
    for (const name of Object.keys(members)) {
      // The name came from outside as well, and can be long.
      if (!readers.has(name)) throw malformed(`${at} has a member that is not known: ${name.slice(0, 64)}`);
    }
    for (const name of Object.keys(required)) {
      if (!Object.hasOwn(members, name)) throw malformed(`${at}.${name} is missing`);
    }
    const entries = [...readers]
      .filter(([name]) => Object.hasOwn(members, name))
      .map(([name, read]) => [name, read(members[name], `${at}.${name}`)]);
    // Every required member is there and each went through the reader that gives it its type.
    return Object.fromEntries(entries) as ReadOf<Required> & Partial<ReadOf<Optional>>;
  };
}

/** Any members. Also for open objects whose members are read one by one. */
export const object: Reader<Record<string, unknown>> = (value, at) => {
  if (!isObject(value)) throw malformed(`${at} is not an object`);
  return value;
};

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const text: Reader<string> = (value, at) => {
  if (typeof value !== "string") throw malformed(`${at} is not a string`);
  return value;
};

export const id: Reader<string> = (value, at) => {
  const found = text(value, at);
  if (found.length === 0 || found.length > idLengthMax) {
    throw malformed(`${at} is not 1 to ${idLengthMax} characters long`);
  }
  return found;
};

export const time: Reader<string> = (value, at) => {
  const found = text(value, at);
  if (parseTime(found) === null) throw malformed(`${at} is not a time as RFC 3339 writes it`);
  return found;
};

export function matching(form: RegExp, what: string): Reader<string> {
  return (value, at) => {
    const found = text(value, at);
    if (!form.test(found)) throw malformed(`${at} is not ${what}`);
    return found;
  };
}

export const uuid = matching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, "a UUID in lowercase");

/** Bytes as strict base64url, kept as the text. */
export function base64url(byteLength?: number): Reader<string> {
  return (value, at) => {
    const found = text(value, at);
    try {
      decodeBase64url(found, byteLength);
    } catch {
      throw malformed(`${at} is not base64url${byteLength === undefined ? "" : ` of ${byteLength} bytes`}`);
    }
    return found;
  };
}

export function oneOf<const Value extends string | number>(
  values: readonly Value[],
  code: HarpErrorCode = "HARP_ERR_TRANSPORT",
): Reader<Value> {
  return (value, at) => {
    const found = values.find((each) => each === value);
    if (found === undefined) throw new HarpError(code, `${at} is none of ${values.join(", ")}.`, { at });
    return found;
  };
}

/** An algorithm, a version or a profile: another one is not malformed, but nothing we know how to do. */
export function only<const Value extends string | number>(value: Value): Reader<Value> {
  return oneOf([value], "HARP_ERR_UNSUPPORTED");
}

export function integer(min: number, max: number): Reader<number> {
  return (value, at) => {
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max)
      return value;
    throw malformed(`${at} is not a whole number from ${min} to ${max}`);
  };
}

export function list<Item>(item: Reader<Item>, min: number, max: number): Reader<Item[]> {
  return (value, at) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) {
      throw malformed(`${at} is not a list of ${min} to ${max}`);
    }
    return value.map((each: unknown, i) => item(each, `${at}[${i}]`));
  };
}

export function malformed(what: string): HarpError {
  return new HarpError("HARP_ERR_TRANSPORT", `${what}.`, { reason: "malformed" });
}
