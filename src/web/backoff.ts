/** When something that failed is tried again: later each time, at a random moment so that not all come back at once. */

export interface Backoff {
  /** The longest wait after the first failure; it doubles with each further one. */
  firstMs: number;
  /** No wait is longer. */
  mostMs: number;
}

/** Full jitter: anything up to a limit that doubles with each failure. `failures` counts from 1. */
export function backoffMs(
  { firstMs, mostMs }: Backoff,
  failures: number,
  random: () => number = Math.random,
): number {
  return Math.floor(random() * Math.min(mostMs, firstMs * 2 ** (failures - 1)));
}
