/** When a call that failed is tried again. */

import { backoffMs } from "../web/backoff.ts";
import type { ModelError } from "./model.ts";

/** The first try included. */
export const attemptsMax = 4;
const backoff = { firstMs: 500, mostMs: 30_000 };

/**
 * How long to wait after the `attempt`-th try (the first is 1); null when it is not to be tried again. The wait is random
 * up to a bound that doubles, so that those who failed together do not come back together; a provider that says when to
 * come back is not asked before.
 */
export function retryDelay(attempt: number, error: ModelError, random: () => number): number | null {
  if (!error.isPassing || attempt >= attemptsMax) return null;
  return (error.retryAfterMs ?? 0) + backoffMs(backoff, attempt, random);
}
