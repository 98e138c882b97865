/** Identifiers: a type prefix and a monotonic ULID, so that they sort by creation and are never reused. */

import { randomFillSync } from "node:crypto";

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

export type NewId = (prefix: string) => string;

/** Within one millisecond the random part counts up, so ids of one process never collide or go backwards. */
export function createIds(now: () => number): NewId {
  const random = new Uint8Array(16);
  // Asking the system for random bytes costs more than the id; it is asked for many at once.
  const pool = new Uint8Array(16 * 256);
  let used = pool.length;
  let lastMs = -1;
  return (prefix) => {
    const ms = Math.max(now(), lastMs);
    if (ms === lastMs) {
      increment(random);
    } else {
      lastMs = ms;
      if (used === pool.length) {
        randomFillSync(pool);
        used = 0;
      }
      for (let i = 0; i < random.length; i++) random[i] = (pool[used++] ?? 0) & 31;
      // Leave room to count up before the highest digit overflows.
      random[0] = (random[0] ?? 0) & 15;
    }
    return `${prefix}_${timePart(ms)}${randomPart(random)}`;
  };
}

/** One that does not count up from another: who knows its neighbours still cannot guess it. */
export function secretId(prefix: string, ms: number): string {
  const digits = randomFillSync(new Uint8Array(16)).map((byte) => byte & 31);
  return `${prefix}_${timePart(ms)}${randomPart(digits)}`;
}

function increment(digits: Uint8Array): void {
  for (let i = digits.length - 1; i >= 0; i--) {
    const digit = digits[i] ?? 0;
    if (digit < 31) {
      digits[i] = digit + 1;
      return;
    }
    digits[i] = 0;
  }
}

function timePart(ms: number): string {
  let text = "";
  for (let rest = ms, i = 0; i < 10; i++) {
    text = alphabet.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function randomPart(digits: Uint8Array): string {
  let text = "";
  for (const digit of digits) text += alphabet.charAt(digit);
  return text;
}
