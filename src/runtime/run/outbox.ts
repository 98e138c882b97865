/** The records of a run on their way to the disk: written in groups, in order, and again until the disk takes them (J1, J7). */

import { isRefusedByDisk } from "../../kernel/core/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { backoffMs } from "../../web/backoff.ts";
import { pause } from "../../web/pause.ts";
import type { Change } from "./record-run.ts";

/** A write that the disk did not take is repeated this often at most; what the run has done stays in memory meanwhile. */
const writeAgain = { firstMs: 250, mostMs: 5000 };

export interface OutboxOptions {
  store: Pick<Kernel["store"], "writeFault">;
  /** Aborted when the run is over and waits for nothing any more. */
  signal: AbortSignal;
  /** Records that may wait for the disk before the agent is made to wait too. */
  max: number;
  isOver(): boolean;
  write(changes: Change[]): Promise<unknown>;
  /** What was to be written never will be. */
  onFailed(error: unknown): void;
}

export class Outbox {
  readonly #options: OutboxOptions;
  #changes: Change[] = [];
  #writing: Promise<boolean> | null = null;
  #isScheduled = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#changes.length === 0 && this.#writing === null;
  }

  get isWriting(): boolean {
    return this.#writing !== null;
  }

  get isFull(): boolean {
    return this.#changes.length >= this.#options.max;
  }

  add(change: Change): void {
    this.#changes.push(change);
  }

  /** Everything is written at the end of this turn of the event loop; nobody waits for it. */
  schedule(flush: () => Promise<void>): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      // What is being written has somebody who waits for it.
      if (this.#changes.length > 0) flush().catch(() => {});
    });
  }

  /** True when all of it is on disk; false when the run is over first. */
  async flush(): Promise<boolean> {
    while (!this.isEmpty) {
      if (this.#options.isOver()) return false;
      // One commit at a time, for all who wait for it.
      this.#writing ??= this.#write();
      if (!(await this.#writing)) return false;
    }
    return true;
  }

  /** The store looks itself whether the disk works again. */
  async untilWritable(): Promise<void> {
    const { store, signal, isOver } = this.#options;
    for (let looks = 1; store.writeFault() !== null && !isOver(); looks++)
      await pause(backoffMs(writeAgain, looks), signal);
  }

  async #write(): Promise<boolean> {
    const changes = this.#changes;
    this.#changes = [];
    const { write, isOver, onFailed } = this.#options;
    try {
      for (let failures = 1; ; failures++) {
        try {
          await write(changes);
          return true;
        } catch (error) {
          if (!isRefusedByDisk(error) || isOver()) throw error;
          // The write is repeated, never the work: what a step, a model or a tool gave is recorded once the disk takes it (J7).
          await this.#untilAgain(failures);
        }
      }
    } catch (error) {
      onFailed(error);
      return false;
    } finally {
      this.#writing = null;
    }
  }

  async #untilAgain(failures: number): Promise<void> {
    await pause(backoffMs(writeAgain, failures), this.#options.signal);
    await this.untilWritable();
  }
}
