/** Time as a shell needs it: a clock that nobody sets back, and limits that end by a signal. */

/** What timers can hold (2^31 - 1); a longer limit, some 25 days, is none. */
const timerMsMax = 2_147_483_647;

/** Milliseconds since some moment, never going back. */
export function now(): number {
  return performance.now();
}

export interface Limit {
  /** Aborted when the time is over, or by the signal that the limit was made with. */
  readonly signal: AbortSignal;
  /** Whether it was the time. */
  readonly isOver: boolean;
  /** Whether it has ended, by the clock too: a timer comes late when something else keeps the thread busy. */
  hasEnded(): boolean;
  /** Lets go of the timer and of the other signal. */
  stop(): void;
}

/** Ends at a moment of `now()`; one that has passed ends at once. */
export function limitAt(moment: number, parent: AbortSignal): Limit {
  const controller = new AbortController();
  let isOver = false;
  const end = () => {
    isOver = true;
    controller.abort();
  };
  // Linked by hand: a signal made by AbortSignal.any can be collected while somebody still waits for it.
  const follow = () => controller.abort();
  parent.addEventListener("abort", follow, { once: true });
  if (parent.aborted) follow();
  const ms = moment - now();
  if (ms <= 0) end();
  const timer = ms <= 0 || ms > timerMsMax ? undefined : setTimeout(end, ms);
  return {
    signal: controller.signal,
    get isOver() {
      return isOver;
    },
    hasEnded() {
      if (!controller.signal.aborted && now() >= moment) end();
      return controller.signal.aborted;
    },
    stop() {
      clearTimeout(timer);
      parent.removeEventListener("abort", follow);
    },
  };
}

/** What the promise gives, or undefined as soon as the signal is aborted. The promise is left to itself then. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise: abortion, resolve } = Promise.withResolvers<undefined>();
  const onAbort = () => resolve(undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) resolve(undefined);
  try {
    return await Promise.race([promise, abortion]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    // Nobody listens any more when it fails after all.
    promise.catch(() => undefined);
  }
}
