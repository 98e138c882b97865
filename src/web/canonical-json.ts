/**
 * The one form in which a value is hashed (RFC 8785): members sorted, no white space, one spelling for each string and
 * number. Every receipt and every recorded step passes through here, so it is written for speed. Needs nothing but the
 * language: whoever verifies in a browser spells by this very code.
 */

/** `sha256:` and the digest in lower-case hex, as everywhere in receipts. */
export const sha256Pattern = "^sha256:[0-9a-f]{64}$";

/**
 * What JSON cannot say is refused rather than left out, since two values that differ must never share a hash. Only
 * members that are undefined are skipped, as JSON does.
 *
 * The engine's own writer is several times faster than joining strings here. It spells everything as section 3.2 wants,
 * except for the order of members; so it is handed a copy in which they already stand in order.
 */
export function canonicalJson(value: unknown): string {
  const surprises: Surprises = { isOrderLost: false };
  const text = JSON.stringify(inOrder(value, surprises));
  // The writer escapes lone surrogates instead of refusing them. The same letters may be harmless text.
  return surprises.isOrderLost || text.includes("\\ud") ? spell(value) : text;
}

interface Surprises {
  /** An object of this language puts some names where it likes, whatever the order they were set in. */
  isOrderLost: boolean;
}

function inOrder(value: unknown, surprises: Surprises): unknown {
  if (typeof value !== "object" || value === null) return primitive(value);
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (let i = 0; i < value.length; i++) items.push(inOrder(value[i], surprises));
    return items;
  }
  assertPlain(value);
  const copy: Record<string, unknown> = {};
  for (const name of sortedNames(value)) {
    if (isMisplaced(name)) surprises.isOrderLost = true;
    else if (value[name] !== undefined) copy[name] = inOrder(value[name], surprises);
  }
  return copy;
}

/** The slow way, for the few values that the engine's writer would spell wrongly. */
function spell(value: unknown): string {
  if (typeof value === "string" && !value.isWellFormed()) {
    throw new TypeError("A string with a lone surrogate has no canonical form");
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(primitive(value));
  let text = "";
  if (Array.isArray(value)) {
    for (const item of value) text += (text === "" ? "" : ",") + spell(item);
    return `[${text}]`;
  }
  assertPlain(value);
  for (const name of sortedNames(value)) {
    if (value[name] === undefined) continue;
    text += `${text === "" ? "" : ","}${spell(name)}:${spell(value[name])}`;
  }
  return `{${text}}`;
}

function primitive(value: unknown): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`${value} has no JSON form`);
      return value;
    default:
      if (value === null) return value;
      throw new TypeError(`A value of type ${typeof value} has no JSON form`);
  }
}

/** A Map, a Date or a Buffer would be hashed as an empty or a foreign object, without anybody noticing. */
function assertPlain(value: object): asserts value is Record<string, unknown> {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return;
  throw new TypeError(`An object of class ${prototype.constructor?.name} has no JSON form`);
}

/** Names that are whole numbers come first in any object, as if it were an array; this one name is no member at all. */
function isMisplaced(name: string): boolean {
  const first = name.charCodeAt(0);
  return first <= 0x39 ? first >= 0x30 && digits.test(name) : name === "__proto__";
}

const digits = /^\d+$/;

/** Below this, moving names by hand beats calling the sort; most objects are far below. */
const handSortedMax = 24;

/** In the order of their UTF-16 code units (section 3.2.3), which is how strings compare in this language. */
function sortedNames(object: object): string[] {
  const names = Object.keys(object);
  if (names.length > handSortedMax) return names.sort();
  for (let i = 1; i < names.length; i++) {
    const name = names[i] ?? "";
    let at = i;
    for (; at > 0 && (names[at - 1] ?? "") > name; at--) names[at] = names[at - 1] ?? "";
    names[at] = name;
  }
  return names;
}
