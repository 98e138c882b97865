/** Time as a dependency: milliseconds since 1970, and the RFC 3339 text that goes on the wire. */

export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

let last = { ms: 0, text: "1970-01-01T00:00:00.000Z" };

/** Many things happen in one millisecond; its text is made once. */
export function timestamp(ms: number): string {
  if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() };
  return last.text;
}
