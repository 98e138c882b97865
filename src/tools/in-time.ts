/**
 * Work that ends in time: with its result, with its error, or without waiting for it any longer. Work that ignores its signal goes on in
 * the background, and its late result is reported once.
 */

/** What the work came to after nobody waited for it any longer. */
export type LateResult = { output: unknown } | { error: unknown };

export interface TimeLimit {
  timeoutMs: number;
  /** What it is rejected with when the time is over. */
  timeout: () => Error;
  /** Gives the work up with its own reason. */
  signal: AbortSignal;
  /** Must not throw: nobody is left to hear of it. */
  onLate?: ((late: LateResult) => void) | undefined;
}

/** The signal that the work is given is aborted when the time is over, and with `signal`. */
export async function inTime<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { timeoutMs, timeout, signal, onLate }: TimeLimit,
): Promise<T> {
  const stop = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let isWaitedFor = true;
  /** Whoever came first settles it; the work, when it is second, is late. */
  const settle = (first: () => void, second: () => void = () => {}) => {
    if (!isWaitedFor) return second();
    isWaitedFor = false;
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    first();
  };
  const giveUp = (reason: unknown) =>
    settle(() => {
      reject(reason);
      stop.abort(reason);
    });
  const onAbort = () => giveUp(signal.reason);
  const timer = setTimeout(() => giveUp(timeout()), timeoutMs);
  signal.addEventListener("abort", onAbort, { once: true });
  work(stop.signal).then(
    (output) =>
      settle(
        () => resolve(output),
        () => onLate?.({ output }),
      ),
    (error: unknown) =>
      settle(
        () => reject(error),
        () => onLate?.({ error }),
      ),
  );
  return await promise;
}
