/** The life of a server: what was built, how long it may take to stop, and whether it is stopping. */

import { systemClock } from "../kernel/core/clock.ts";

export class Lifetime {
  /** Taken down in reverse order. */
  readonly built: AsyncDisposableStack;
  readonly #stopped = new AbortController();
  #stopBy: number | null = null;
  #graceMs = 0;

  constructor(built: AsyncDisposableStack) {
    this.built = built;
  }

  /** Aborted when open answers and streams are to end. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  get isStopping(): boolean {
    return this.#stopBy !== null;
  }

  get graceMs(): number {
    return this.#graceMs;
  }

  /** What is left of the grace period. */
  get leftMs(): number {
    return Math.max(0, (this.#stopBy ?? 0) - systemClock.now());
  }

  endAnswers(): void {
    this.#stopped.abort();
  }

  beginStop(graceMs: number): void {
    this.#graceMs = graceMs;
    this.#stopBy = systemClock.now() + graceMs;
  }
}
