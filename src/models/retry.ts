/** When a call that failed is tried again. */

import type { ModelError } from "./model.ts";

export const attemptsMax = 4;
const baseMs = 500;
const capMs = 30_000;

/** Exponential with full jitter, and never sooner than the provider asks. */
export function retryDelay(attempt: number, error: ModelError, random: () => number = Math.random): number {
  const jittered = random() * Math.min(capMs, baseMs * 2 ** (attempt - 1));
  return Math.max(jittered, error.retryAfterMs ?? 0);
}
