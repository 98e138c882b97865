/** Tries again what may pass: longer waits each time, none of them exactly as long as another client's. */

import { BridleError, isPassing } from "./errors.ts";

const firstMs = 200;
const longestMs = 5_000;
/** A server that asks for more patience than this is not waited for. */
const retryAfterMsMax = 30_000;

export async function retrying<T>(
  attempt: () => Promise<T>,
  retries: number,
  signal?: AbortSignal,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      const asked = error instanceof BridleError ? (error.retryAfterMs ?? 0) : 0;
      if (!isPassing(error) || failures >= retries || asked > retryAfterMsMax) throw error;
      await pause(Math.max(asked, backoffMs(failures)), signal);
    }
  }
}

export function backoffMs(failures: number): number {
  const longest = Math.min(longestMs, firstMs * 2 ** Math.min(failures, 10));
  return longest / 2 + (Math.random() * longest) / 2;
}

/** Rejects at once with the signal's reason when it is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const abort = () => reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}
