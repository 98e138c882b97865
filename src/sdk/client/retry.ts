/** Tries again what may pass: longer waits each time, none of them exactly as long as another client's. */

import { type Backoff, backoffMs } from "../../web/backoff.ts";
import { pause } from "../../web/pause.ts";
import { BridleError, isPassing } from "./errors.ts";

export const retryBackoff: Backoff = { firstMs: 200, mostMs: 5_000 };
/** A server that asks for more patience than this is not waited for. */
const retryAfterMsMax = 30_000;

export async function retrying<T>(
  attempt: () => Promise<T>,
  retries: number,
  signal?: AbortSignal,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      const asked = error instanceof BridleError ? (error.retryAfterMs ?? 0) : 0;
      if (!isPassing(error) || failures > retries || asked > retryAfterMsMax) throw error;
      await pause(Math.max(asked, backoffMs(retryBackoff, failures)), signal);
      signal?.throwIfAborted();
    }
  }
}
