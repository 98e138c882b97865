/** How a client comes back to a gateway that it lost. */

import type { Backoff } from "../../web/backoff.ts";
import { pause } from "../../web/pause.ts";

export const gatewayBackoff: Backoff = { firstMs: 1000, mostMs: 60_000 };

/** Time and chance, so that tests need not wait. */
export interface Waiting {
  /** From 0 to below 1. */
  random(): number;
  /** Resolves after that long, or as soon as the signal says so. */
  pause(ms: number, signal?: AbortSignal): Promise<void>;
}

export const realWaiting: Waiting = { random: Math.random, pause };
