/**
 * Records that need work, a few at a time: each is worked on by one worker only, and once more when it changed meanwhile. What
 * does not fit is found again on disk.
 */

import type { DueReader } from "./due-reader.ts";
import { ReadyQueue } from "./ready-queue.ts";

/** Items known to need work; more than this are found again on disk. */
const readyMax = 10_000;

export interface WorkQueueOptions {
  /** Items worked on at the same time. */
  concurrency: number;
  /** True when there is more to do at once. The signal is aborted when the item is interrupted or the queue stops. */
  work(id: string, signal: AbortSignal): Promise<boolean>;
  /** Not called for what fails because it was interrupted. */
  onError(error: unknown, id: string): void;
  /** After an error, the item is worked on again so much later; left out, `onError` sees to that. */
  retryMs?: number;
  /** Nothing is begun while this is true. */
  isResting?(): boolean;
}

interface Working {
  turn: string;
  controller: AbortController;
  ended: Promise<void>;
  isAgain: boolean;
}

export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #ready = new ReadyQueue(readyMax);
  readonly #working = new Map<string, Working>();
  #overflowed = false;
  #isStopped = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** `turn` says for whom it is: a tenant with many items does not keep others waiting. */
  add(id: string, turn: string): void {
    if (this.#isStopped) return;
    const working = this.#working.get(id);
    if (working !== undefined) working.isAgain = true;
    else if (!this.#ready.add(id, turn)) this.#overflowed = true;
    this.dispatch();
  }

  isWorkingOn(id: string): boolean {
    return this.#working.has(id);
  }

  /** What is worked on is wanted no longer as it was: it is interrupted and begun anew. */
  restart(id: string, turn: string): void {
    const working = this.#working.get(id);
    this.add(id, turn);
    working?.controller.abort();
  }

  /** Ends the work on an item, if there is any. */
  interrupt(id: string): void {
    this.#working.get(id)?.controller.abort();
  }

  /** Begins what there is room for. */
  dispatch(): void {
    while (!this.#isStopped && this.#working.size < this.#options.concurrency) {
      if (this.#options.isResting?.() === true) return;
      const next = this.#ready.next();
      if (next === undefined) return;
      const { id, turn } = next;
      const working = { turn, controller: new AbortController(), ended: Promise.resolve(), isAgain: false };
      this.#working.set(id, working);
      working.ended = this.#work(id, working);
    }
  }

  /** All items are to be looked for on disk again. */
  lookAgain(): void {
    this.#overflowed = true;
  }

  /** Takes up what has become due since the last look; everything due after an overflow, once there is room. */
  async refill(
    due: readonly DueReader[],
    now: number,
    signal: AbortSignal,
    take: (id: string) => Promise<void>,
  ): Promise<void> {
    if (this.#overflowed && this.#ready.size === 0) {
      this.#overflowed = false;
      for (const reader of due) reader.restart();
    }
    for (const reader of due) {
      if (this.#overflowed) return;
      for await (const id of reader.read(now)) {
        await take(id);
        if (this.#overflowed || signal.aborted) return;
      }
    }
    this.dispatch();
  }

  /** Begins nothing more, and waits for what is under way; after the grace it is interrupted. */
  async stop(graceMs?: number): Promise<void> {
    this.#isStopped = true;
    const working = [...this.#working.values()];
    const interrupt = () => {
      for (const { controller } of working) controller.abort();
    };
    const timer = graceMs === undefined ? undefined : setTimeout(interrupt, graceMs);
    await Promise.all(working.map(({ ended }) => ended));
    clearTimeout(timer);
  }

  async #work(id: string, working: Working): Promise<void> {
    const { onError, retryMs } = this.#options;
    const { turn, controller } = working;
    // It must be known to all before it can end.
    await null;
    let isAgain = false;
    try {
      isAgain = await this.#options.work(id, controller.signal);
    } catch (error) {
      if (!controller.signal.aborted) {
        onError(error, id);
        if (retryMs !== undefined) setTimeout(() => this.add(id, turn), retryMs).unref();
      }
    }
    // Whatever is still open.
    controller.abort();
    this.#working.delete(id);
    if (isAgain || working.isAgain) this.add(id, turn);
    this.dispatch();
  }
}
