/**
 * Callers remembered by the hash of what they presented. What is looked up is the hash: how long that takes says nothing
 * about the secret. All of them are forgotten when a key is revoked or rotated.
 */

import type { Caller } from "../../policy/caller.ts";
import type { Clock } from "../core/clock.ts";
import type { EventKind } from "../core/events.ts";
import type { LogTail } from "../core/log-tail.ts";

/** After these, what somebody presents may stand for less than before. */
const endingEvents: ReadonlySet<string> = new Set<EventKind>([
  "vendor.bridle.api_key.revoked",
  "vendor.bridle.api_key.rotated",
]);

/** Forgotten all at once when there are more: the next use of each is a lookup. */
const knownMax = 10_000;

export interface KnownCaller {
  caller: Caller;
  expiresAt: number;
}

export class CallerCache {
  readonly #known = new Map<string, KnownCaller>();
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  /** Grows with every revocation. */
  generation = 0;

  constructor(tail: LogTail, clock: Clock) {
    this.#clock = clock;
    tail.onCommit((events) => {
      if (events.some(({ event }) => endingEvents.has(event))) this.#forgetAll();
    });
  }

  find(hash: string): Caller | null {
    const known = this.#known.get(hash);
    return known !== undefined && known.expiresAt > this.#clock.now() ? known.caller : null;
  }

  /** `generation` is from before the key was looked at: what may have been revoked since is not remembered. */
  remember(hash: string, known: KnownCaller, generation: number): void {
    if (generation !== this.generation) return;
    if (this.#known.size >= knownMax) this.#known.clear();
    this.#known.set(hash, known);
  }

  /** Calls back whenever a key ended. Returns the way to stop it. */
  onEnd(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What else a key stood for, keys that it made included, is looked up anew. */
  #forgetAll(): void {
    this.generation += 1;
    this.#known.clear();
    for (const listener of this.#listeners) listener();
  }
}
