/** Notices that the wall clock was set, by comparing it with one that cannot be: by an operator, by NTP, or by a suspended machine. */

import { type Clock, steadyNow } from "../../kernel/core/clock.ts";

/** Below this it is the ordinary correction of a clock that runs a little wrong. */
const jumpMsMin = 1000;

export class ClockWatch {
  readonly #clock: Clock;
  /** How far the wall clock is ahead of the steady one. */
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offset = this.#measure();
  }

  /** By how many milliseconds the wall clock was set since the last look, negative when it was put back; 0 when it was not. */
  jump(): number {
    const before = this.#offset;
    this.#offset = this.#measure();
    const ms = Math.round(this.#offset - before);
    return Math.abs(ms) >= jumpMsMin ? ms : 0;
  }

  #measure(): number {
    return this.#clock.now() - steadyNow(this.#clock);
  }
}
