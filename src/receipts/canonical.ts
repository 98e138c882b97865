/** The hash of a value: SHA-256 over its canonical form. */

import { hash } from "node:crypto";
import { canonicalJson } from "../web/canonical-json.ts";

export function sha256Of(text: string | Uint8Array): string {
  return `sha256:${hash("sha256", text, "hex")}`;
}

export function hashOf(value: unknown): string {
  return sha256Of(canonicalJson(value));
}
