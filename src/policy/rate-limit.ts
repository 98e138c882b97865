/**
 * How often somebody may do something: a token bucket for each, in memory. It counts failures to prove who one is, where
 * nobody guesses 256 bits but work is spared and a client gone wrong is told to slow down, and calls of those who need
 * not prove it.
 */

import { isIP, isIPv6 } from "node:net";

/** Failures a minute: no person types that fast, and a script that does not stop is noticed soon. */
export const authFailuresMaxDefault = 100;

/** Buckets kept at once. One that is forgotten starts full again, which costs an attacker more addresses than we have memory. */
const bucketsMax = 10_000;

const minuteMs = 60_000;

export class RateLimit {
  readonly #perMinute: number;
  /** When each bucket will be full again. Everything that is counted puts that off by what it costs. */
  readonly #fullAt = new Map<string, number>();
  readonly #costMs: number;
  readonly #now: () => number;

  /** As many at once as in a minute. */
  constructor(perMinute: number, now: () => number) {
    this.#perMinute = perMinute;
    this.#costMs = minuteMs / perMinute;
    this.#now = now;
  }

  /** Seconds until the next one is allowed; 0 when it is allowed now. */
  secondsToWait(who: string): number {
    const overdraftMs = this.#msUntilFull(who) + this.#costMs - minuteMs;
    return Math.max(0, Math.ceil(overdraftMs / 1000));
  }

  /** How many are allowed now, and when it is all of them again. */
  left(who: string): { left: number; resetSeconds: number } {
    const ms = this.#msUntilFull(who);
    return {
      left: Math.max(0, Math.floor(this.#perMinute - ms / this.#costMs)),
      resetSeconds: Math.ceil(ms / 1000),
    };
  }

  count(who: string): void {
    const fullInMs = Math.min(minuteMs, this.#msUntilFull(who) + this.#costMs);
    // Put at the end again: the first in the map is the one that was counted longest ago.
    this.#fullAt.delete(who);
    this.#fullAt.set(who, this.#now() + fullInMs);
    const [oldest] = this.#fullAt.keys();
    if (this.#fullAt.size > bucketsMax && oldest !== undefined) this.#fullAt.delete(oldest);
  }

  /** Never more than a minute, also when the clock was put back. */
  #msUntilFull(who: string): number {
    const ms = (this.#fullAt.get(who) ?? 0) - this.#now();
    return Math.min(minuteMs, Math.max(0, ms));
  }
}

/** Who has one IPv6 address has the 2^64 around it. What is no address, a proxy made up: all of that is one. */
export function addressGroup(address: string): string {
  if (!isIP(address)) return "unknown";
  if (!isIPv6(address) || address.startsWith("::ffff:")) return address;
  const [head = "", tail] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const filled = [
    ...groups,
    ...Array<string>(Math.max(0, 8 - groups.length - after.length)).fill("0"),
    ...after,
  ];
  return `${filled.slice(0, 4).join(":")}::/64`;
}
