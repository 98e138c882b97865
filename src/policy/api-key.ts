/**
 * API keys: `bridle_<key id>_<256 random bits>`. Only the SHA-256 of a key is kept. A slow hash would add nothing:
 * nobody guesses 256 bits. The id inside finds the record; the comparison takes the same time whatever is presented.
 */

import { hash, randomBytes, timingSafeEqual } from "node:crypto";

/** When keys end that were made without an end. */
export const keyMsDefault = 90 * 24 * 60 * 60 * 1000;

/** How long the secret before a rotation works, by default and at most. */
export const overlapSecondsDefault = 24 * 60 * 60;
export const overlapSecondsMax = 7 * 24 * 60 * 60;

const pattern = /^bridle_(key_[0-9A-Z]{26})_[A-Za-z0-9_-]{43}$/;

export function newApiKey(keyId: string): { key: string; hash: string } {
  const key = `bridle_${keyId}_${randomBytes(32).toString("base64url")}`;
  return { key, hash: hashApiKey(key) };
}

export function hashApiKey(key: string): string {
  return hash("sha256", key, "hex");
}

/** The id of the record that a presented key claims to be, or null when it is no key of ours. */
export function keyIdOf(presented: string): string | null {
  return pattern.exec(presented)?.[1] ?? null;
}

export function sameHash(a: string, b: string): boolean {
  const left = Buffer.from(a, "hex");
  const right = Buffer.from(b, "hex");
  return left.length === right.length && timingSafeEqual(left, right);
}
