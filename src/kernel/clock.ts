/** Time as a dependency: milliseconds since 1970, and the RFC 3339 text that goes on the wire. */

export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
