/** Time as a dependency: milliseconds since 1970, and the RFC 3339 text that goes on the wire. */

export interface Clock {
  now(): number;
  /** Milliseconds since some moment, by a clock that is never set; the same as `now` when it is left out. */
  steady?(): number;
  /** Calls back once so much time has passed, unless it was stopped; by a timer of the system when it is left out. */
  setTimer?(callback: () => void, ms: number): StopTimer;
}

export type StopTimer = () => void;

export const systemClock: Clock = { now: () => Date.now(), steady: () => performance.now() };

/** For how long something lasts in this process: setting the wall clock neither prolongs nor shortens it. */
export function steadyNow(clock: Clock): number {
  return clock.steady?.() ?? clock.now();
}

/** A timer of the clock that the waiting is measured by. */
export function setTimer(clock: Clock, callback: () => void, ms: number): StopTimer {
  if (clock.setTimer !== undefined) return clock.setTimer(callback, ms);
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}

let last = { ms: 0, text: "1970-01-01T00:00:00.000Z" };

/** Many things happen in one millisecond; its text is made once. */
export function timestamp(ms: number): string {
  if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() };
  return last.text;
}
