/**
 * How often somebody may fail to prove who they are: a token bucket for each address, in memory. Nobody guesses 256
 * bits; what is spared is work, and what is gained is that a client gone wrong is told to slow down.
 */

import { isIPv6 } from "node:net";

/** Failures a minute: no person types that fast, and a script that does not stop is noticed soon. */
export const authFailuresMaxDefault = 100;

/** Buckets kept at once. One that is forgotten starts full again, which costs an attacker more addresses than we have memory. */
const bucketsMax = 10_000;

interface Bucket {
  level: number;
  at: number;
}

export class FailureLimit {
  readonly #buckets = new Map<string, Bucket>();
  readonly #burst: number;
  readonly #now: () => number;

  /** As many failures at once as in a minute. */
  constructor(perMinute: number, now: () => number) {
    this.#burst = perMinute;
    this.#now = now;
  }

  /** Seconds until the next failure is allowed; 0 when it is allowed now. */
  secondsToWait(who: string): number {
    const level = this.#levelOf(who);
    return level >= 1 ? 0 : Math.ceil(((1 - level) * 60) / this.#burst);
  }

  count(who: string): void {
    const level = Math.max(0, this.#levelOf(who) - 1);
    // Put at the end again: the first in the map is the one that failed longest ago.
    this.#buckets.delete(who);
    this.#buckets.set(who, { level, at: this.#now() });
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > bucketsMax && oldest !== undefined) this.#buckets.delete(oldest);
  }

  #levelOf(who: string): number {
    const bucket = this.#buckets.get(who);
    if (bucket === undefined) return this.#burst;
    const refilled = ((this.#now() - bucket.at) * this.#burst) / 60_000;
    return Math.min(this.#burst, bucket.level + Math.max(0, refilled));
  }
}

/** Who has one IPv6 address has the 2^64 around it. */
export function addressGroup(address: string): string {
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
