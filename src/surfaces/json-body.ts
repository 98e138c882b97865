/**
 * JSON as it comes over a wire, the same on all surfaces. What two programs could read differently is refused: a proxy that
 * filters would otherwise see another request than the server. That is a name that comes twice in an object, text that is
 * not UTF-8, half a surrogate pair, and a byte order mark.
 */

import { isUtf8 } from "node:buffer";
import { HarnessError } from "../kernel/core/errors.ts";
import { countStrings, requireUnambiguous } from "../receipts/strict-json.ts";
import type { JsonValue } from "../store/port.ts";

/** The body is not JSON at all. */
export class NotJson extends HarnessError {
  constructor(problem?: string) {
    super(
      "invalid_request",
      problem === undefined ? "Invalid JSON payload" : `Invalid JSON payload: ${problem}`,
    );
  }
}

export function readJson(body: Buffer): JsonValue {
  return parseJson(textOf(body));
}

/** JSON is UTF-8; a lenient decoder would put something in its place that nobody sent. */
export function textOf(body: Buffer): string {
  if (!isUtf8(body)) throw new NotJson(`it is not UTF-8 from byte ${firstInvalidByte(body)} on.`);
  return body.toString("utf8");
}

/** The first byte that a lenient decoder does not give back. */
function firstInvalidByte(body: Buffer): number {
  const decoded = Buffer.from(body.toString("utf8"));
  return body.findIndex((byte, at) => byte !== decoded[at]);
}

export function parseJson(text: string): JsonValue {
  const value = parseSyntax(text);
  requireSound(value, text);
  return value;
}

const byteOrderMark = 0xfeff;

/** For those who want to look at it before they say what is wrong with it. */
export function parseSyntax(text: string): JsonValue {
  if (text.charCodeAt(0) === byteOrderMark) throw new NotJson("it begins with a byte order mark.");
  try {
    return JSON.parse(text);
  } catch {
    throw new NotJson();
  }
}

/** `text` is what the value was read from. Only what looks wrong is read again, to name the place. */
export function requireSound(value: unknown, text: string): void {
  const strings = requireBounded(value);
  const isWhole = strings === countStrings(text) && (!halfSurrogate.test(text) || isWellFormed(value));
  if (isWhole) return;
  try {
    requireUnambiguous(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw invalid(`The body can be read in more than one way: ${error.message}.`);
  }
  throw invalid("The body can be read in more than one way.");
}

/** JSON nested deeper than this is an attack on somebody's stack, not data. */
const bodyDepthMax = 100;

/**
 * Throws for what JSON can say but nobody can give back: endless numbers, endless nesting and, unless it is passed on as it came, a name
 * that is none. Returns how many strings the value has, names included.
 */
export function requireBounded(value: unknown, isOpaque = false): number {
  return stringsIn(value, bodyDepthMax, isOpaque);
}

function stringsIn(value: unknown, levels: number, isOpaque: boolean): number {
  if (typeof value === "string") return 1;
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw invalid("The body has a number that is too large.");
  }
  if (typeof value !== "object" || value === null) return 0;
  if (levels === 0) throw invalid(`The body is nested deeper than ${bodyDepthMax} levels.`);
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += stringsIn(item, levels - 1, isOpaque);
    return count;
  }
  // JSON has no inherited names, and this is several times faster than a list of entries.
  const object: Record<string, unknown> = value as Record<string, unknown>;
  for (const name in object) {
    if (name === "__proto__" && !isOpaque)
      throw invalid("The body has a key that no object may have: __proto__.");
    count += 1 + stringsIn(object[name], levels - 1, isOpaque);
  }
  return count;
}

function invalid(problem: string): HarnessError {
  return new HarnessError("invalid_request", problem);
}

/** Whether it is worth looking: only an escape can bring an unpaired surrogate into UTF-8. */
const halfSurrogate = /\\u[dD][89a-fA-F]/;

function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, inner]) => name.isWellFormed() && isWellFormed(inner));
}
