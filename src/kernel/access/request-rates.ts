/** How many requests one API key, token or administrator may send: a token bucket for each, for all surfaces together. */

import type { Caller } from "../../policy/caller.ts";
import { RateLimit } from "../../policy/rate-limit.ts";
import { HarnessError } from "../core/errors.ts";

/** Of a server that other machines reach and whose operator says nothing: a hundred a second. */
export const requestsPerMinuteDefault = 6000;

export interface RateLeft {
  most: number;
  left: number;
  /** Until all of it is there again. */
  resetSeconds: number;
}

export class RequestRates {
  readonly #perMinute: number;
  readonly #limit: RateLimit | null;

  /** Null limits nobody. */
  constructor(perMinute: number | null, now: () => number) {
    this.#perMinute = perMinute ?? 0;
    this.#limit = perMinute === null ? null : new RateLimit(perMinute, now);
  }

  /** Counts a request, or refuses it. */
  take(caller: Caller): void {
    if (this.#limit === null) return;
    const who = nameOf(caller);
    const seconds = this.#limit.secondsToWait(who);
    if (seconds === 0) {
      this.#limit.count(who);
      return;
    }
    throw new HarnessError(
      "rate_limited",
      `More than ${this.#perMinute} requests a minute were sent with these credentials. Try again in ${seconds} seconds.`,
      {
        details: {
          limit: "requests",
          most: this.#perMinute,
          used: this.#perMinute,
          retry_after_seconds: seconds,
        },
      },
    );
  }

  /** What is left to a caller; null where nothing limits it. */
  left(caller: Caller): RateLeft | null {
    return this.#limit === null ? null : { most: this.#perMinute, ...this.#limit.left(nameOf(caller)) };
  }
}

function nameOf({ tenantId, keyId, actor }: Caller): string {
  return `${tenantId} ${keyId ?? actor}`;
}
