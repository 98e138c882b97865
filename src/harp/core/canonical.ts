/**
 * The one form in which anything is hashed or signed: that of RFC 8785, narrowed to what every platform writes alike.
 * Members in the order of their names, no white space, whole numbers only. What has no such form is refused, since
 * two values that differ must never share a hash.
 */

import { HarpError } from "./harp-error.ts";

/** Deeper than anything that a person would review, and far from what a stack can bear. */
export const nestingMax = 64;

export function canonicalText(value: unknown): string {
  return spell(value, 0);
}

export function canonicalBytes(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(canonicalText(value));
}

/** Reads bytes that are exactly a canonical form: no other order, no name twice, no byte order mark, no `1.0`. */
export function parseCanonical(bytes: Uint8Array): unknown {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw unspeakable("The bytes are not JSON in UTF-8");
  }
  if (canonicalText(value) !== text) throw unspeakable("The bytes are JSON, but not in its canonical form");
  return value;
}

export async function sha256(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes)));
}

export async function sha256Hex(bytes: Uint8Array): Promise<string> {
  return hexOf(await sha256(bytes));
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const hashPrefix = "sha256:";
export const bareHashForm = /^[0-9a-f]{64}$/;
export const prefixedHashForm = /^sha256:[0-9a-f]{64}$/;

/** As hashes stand in the bodies of messages. */
export function withPrefix(bareHash: string): string {
  return hashPrefix + bareHash;
}

/** As hashes stand in artifacts and decisions, whichever way they came. */
export function withoutPrefix(hash: string): string {
  return hash.startsWith(hashPrefix) ? hash.slice(hashPrefix.length) : hash;
}

function spell(value: unknown, depth: number): string {
  switch (typeof value) {
    case "string":
      if (!value.isWellFormed()) throw unspeakable("A string has a lone surrogate");
      return JSON.stringify(value);
    case "number":
      if (!Number.isSafeInteger(value)) throw unspeakable("A number is not a safe integer");
      return JSON.stringify(value);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      if (depth >= nestingMax) throw unspeakable(`The value is nested deeper than ${nestingMax}`);
      return Array.isArray(value) ? spellArray(value, depth + 1) : spellObject(value, depth + 1);
    default:
      throw unspeakable(`A value is of type ${typeof value}`);
  }
}

function spellArray(items: readonly unknown[], depth: number): string {
  const parts: string[] = [];
  // By index: a hole has to be met, which the array's own methods would skip.
  for (let i = 0; i < items.length; i++) parts.push(spell(items[i], depth));
  return `[${parts.join(",")}]`;
}

function spellObject(object: object, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(object);
  // A date or a map would be written as something else, or as an empty object, without anybody noticing.
  if (prototype !== Object.prototype && prototype !== null) throw unspeakable("An object is not a plain one");
  const members = Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = members.map(([name, value]) => {
    // Code points and UTF-16 code units sort alike only without surrogates.
    if (/[\ud800-\udfff]/.test(name)) throw unspeakable("A name has a character outside of the basic plane");
    return `${JSON.stringify(name)}:${spell(value, depth)}`;
  });
  return `{${parts.join(",")}}`;
}

function unspeakable(why: string): HarpError {
  return new HarpError("HARP_ERR_CANONICALIZATION", `${why}; there is no canonical form to hash or sign.`);
}
