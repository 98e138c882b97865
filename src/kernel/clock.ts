/** Time as a dependency: milliseconds since 1970, and the RFC 3339 text that goes on the wire. */

export interface Clock {
  now(): number;
  /** Calls back once so much time has passed, unless it was stopped; by a timer of the system when it is left out. */
  setTimer?(callback: () => void, ms: number, what: TimerKind): StopTimer;
}

/** A run that only waits has nothing else to do; a pause is made in the middle of something, before it is tried again. */
export type TimerKind = "wait" | "pause";

export type StopTimer = () => void;

export const systemClock: Clock = { now: () => Date.now() };

/** A timer of the clock that the waiting is measured by. */
export function setTimer(
  clock: Clock,
  callback: () => void,
  ms: number,
  what: TimerKind = "pause",
): StopTimer {
  if (clock.setTimer !== undefined) return clock.setTimer(callback, ms, what);
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}

let last = { ms: 0, text: "1970-01-01T00:00:00.000Z" };

/** Many things happen in one millisecond; its text is made once. */
export function timestamp(ms: number): string {
  if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() };
  return last.text;
}
