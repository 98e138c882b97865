/**
 * Documents of one kind that have become due by the wall clock; each look goes on where the last one ended. The clock may be
 * put back: what was passed over is then looked at again.
 */

import type { WholeKernel } from "../../kernel/kernel.ts";

const pageSize = 500;
const start = { wakeAt: -1, id: "" };
/** Corrections of the clock below this are ordinary. */
const setBackMsMin = 1000;

export interface DueReaderOptions {
  store: Pick<WholeKernel["store"], "due">;
  kind: string;
  /**
   * For retries, whose time was chosen here and promised to nobody: after the clock was put back, and at the first look, also
   * what is not due yet is read, since its time may have been chosen by a wrong clock. The reader judges it.
   */
  isRetry?: boolean;
}

export class DueReader {
  readonly #options: DueReaderOptions;
  #seen = start;
  #lookedAt = Number.POSITIVE_INFINITY;

  constructor(options: DueReaderOptions) {
    this.#options = options;
  }

  /** The next look begins at the start. */
  restart(): void {
    this.#seen = start;
  }

  /** Whether a look has passed this time, so that no further one finds what is only now due then. */
  hasPassed(time: number, now: number): boolean {
    return time <= Math.min(this.#seen.wakeAt, now);
  }

  async *read(now: number): AsyncGenerator<string> {
    const isSetBack = now + setBackMsMin < this.#lookedAt;
    this.#lookedAt = now;
    if (isSetBack || now < this.#seen.wakeAt) this.restart();
    const isAll = isSetBack && this.#options.isRetry === true;
    yield* this.#pages(isAll ? Number.MAX_SAFE_INTEGER : now);
    // What was read beyond now will be due later.
    if (isAll) this.#seen = { wakeAt: Math.min(now, this.#seen.wakeAt), id: "" };
  }

  async *#pages(through: number): AsyncGenerator<string> {
    const { store, kind } = this.#options;
    while (true) {
      const due = await store.due({ kind, after: this.#seen, through, limit: pageSize });
      for (const { id } of due) yield id;
      this.#seen = due.at(-1) ?? this.#seen;
      if (due.length < pageSize) return;
    }
  }
}
