/** How a client comes back to a gateway that it lost: later and later, and not at the same moment as all the others. */

/** The first wait is at most the one, and no wait is ever longer than the other. */
export const backoffMs = { least: 1000, most: 60_000 } as const;

/** Time and chance, so that tests need not wait. */
export interface Waiting {
  /** From 0 to below 1. */
  random(): number;
  /** Resolves after that long, or as soon as the signal says so. */
  pause(ms: number, signal?: AbortSignal): Promise<void>;
}

export const realWaiting: Waiting = { random: Math.random, pause };

/** Full jitter: anything between nothing and a limit that doubles with every failure. */
export function backoff(failures: number, random: () => number): number {
  const limit = Math.min(backoffMs.least * 2 ** failures, backoffMs.most);
  return Math.floor(random() * limit);
}

async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}
