/** What a run waits for while it is in memory: answers from outside, by the step they are for, and times. */

import { type Clock, type StopTimer, setTimer, steadyNow } from "../../kernel/core/clock.ts";
import type { KernelEvent } from "../../kernel/core/events.ts";
import type { Parked } from "../../kernel/kinds/task.ts";

/** How long a question or a host call may stay open when the agent does not say. */
export const waitMsDefault = 7 * 24 * 60 * 60 * 1000;

/** A wait this short is spent in memory. */
const shortWaitMs = 1000;
/** Timers cannot run longer than this; a longer wait is out of memory by then anyway. */
const timerMsMax = 2 ** 31 - 1;

export interface Wait {
  key: string;
  /** What it waits for, in words that an operator understands. */
  reason: string;
  /** A question to a person is on the task already; anything else has to be noted when the run is dropped. */
  kind: "person" | "timer" | "child" | "host" | "remote" | "signal";
  until: number | null;
}

export type Arrival = KernelEvent | "elapsed";

interface Waiting extends Wait {
  resolve(arrival: Arrival): void;
  /** By the steady clock: a wait that is over soon stays so when the wall clock is put back. */
  endsAt: number | null;
}

export class Waits {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  readonly #waiting = new Map<string, Waiting>();
  /** What came for a step before its code waited for it. */
  readonly arrived = new Map<string, KernelEvent>();
  readonly #timers = new Map<string, StopTimer>();

  /** `onOver` is called whenever a wait is over. */
  constructor(clock: Clock, onOver: () => void) {
    this.#clock = clock;
    this.#onOver = onOver;
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(wait: Wait): Promise<Arrival> {
    const arrival = new Promise<Arrival>((resolve) => {
      this.#waiting.set(wait.key, { ...wait, resolve, endsAt: null });
    });
    this.#setTimer(wait.key);
    return arrival;
  }

  end(key: string, arrival: Arrival): void {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) return;
    this.#waiting.delete(key);
    this.#stopTimer(key);
    waiting.resolve(arrival);
    this.#onOver();
  }

  /** Whoever waits for a signal looks whether there is one. */
  lookForSignals(): void {
    for (const [key, { kind }] of [...this.#waiting]) if (kind === "signal") this.end(key, "elapsed");
  }

  /** Nobody waits any more; what waited hears nothing. */
  clear(): void {
    for (const stop of this.#timers.values()) stop();
    this.#timers.clear();
    this.#waiting.clear();
  }

  /** All of them, when there are any and none is about to be over. */
  get long(): Wait[] | null {
    const waits = [...this.#waiting.values()];
    const soon = steadyNow(this.#clock) + shortWaitMs;
    const isShort = waits.some(({ endsAt }) => endsAt !== null && endsAt <= soon);
    return waits.length === 0 || isShort ? null : waits;
  }

  /** The clock was set: what is overdue by it ends now, and sleeps look themselves how long they last. */
  measureAgain(): void {
    for (const [key, { kind, endsAt, until }] of [...this.#waiting]) {
      if (kind === "timer") this.end(key, "elapsed");
      else if (endsAt !== null && until !== null && this.#endOf(until) < endsAt) this.#setTimer(key);
    }
  }

  #setTimer(key: string): void {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined || waiting.until === null) return;
    this.#stopTimer(key);
    waiting.endsAt = this.#endOf(waiting.until);
    const ms = Math.max(waiting.endsAt - steadyNow(this.#clock), 0);
    const stop = setTimer(this.#clock, () => this.end(key, "elapsed"), Math.min(ms, timerMsMax));
    this.#timers.set(key, stop);
  }

  #endOf(until: number): number {
    return steadyNow(this.#clock) + Math.max(until - this.#clock.now(), 0);
  }

  #stopTimer(key: string): void {
    this.#timers.get(key)?.();
    this.#timers.delete(key);
  }
}

export function earliest(waits: readonly Wait[]): number | null {
  const times = waits.flatMap((wait) => wait.until ?? []);
  return times.length === 0 ? null : Math.min(...times);
}

/** What the task says while its run is out of memory; nothing when it says already what it waits for. */
export function parkedFor(waits: readonly Wait[]): Parked | null {
  const noted = waits.filter((wait) => wait.kind !== "person");
  if (noted.length === 0) return null;
  const until = earliest(noted);
  return {
    reason: noted.map((wait) => wait.reason).join("; "),
    until: until === null ? null : new Date(until).toISOString(),
  };
}
