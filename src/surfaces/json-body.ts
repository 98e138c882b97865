/** JSON as it comes over a wire: read as text, and refused when it is no JSON or says what nobody can give back. */

import { isUtf8 } from "node:buffer";
import { HarnessError } from "../kernel/errors.ts";
import type { JsonValue } from "../store/port.ts";
import { problemWith } from "./http.ts";

/** The body is not JSON at all. */
export class NotJson extends HarnessError {
  constructor() {
    super("invalid_request", "Invalid JSON payload");
  }
}

/** JSON is UTF-8; what is something else must not become something that nobody sent. */
export function textOf(body: Buffer): string {
  if (!isUtf8(body)) throw new NotJson();
  return body.toString("utf8");
}

export function parseJson(text: string): JsonValue {
  const value = parseSyntax(text);
  requireSound(value, text);
  return value;
}

/** For those who want to look at it before they say what is wrong with it. */
export function parseSyntax(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    throw new NotJson();
  }
}

/** `text` is what the value was read from. */
export function requireSound(value: unknown, text: string): void {
  const problem = problemWith(value);
  if (problem !== null) throw new HarnessError("invalid_request", problem);
  if (halfSurrogate.test(text) && !isWellFormed(value)) {
    throw new HarnessError("invalid_request", "The body has half a character, which no text can hold.");
  }
}

/** Whether it is worth looking: only an escape can smuggle half a character into UTF-8. */
const halfSurrogate = /\\u[dD][89a-fA-F]/;

function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, inner]) => name.isWellFormed() && isWellFormed(inner));
}
