/**
 * Tasks out of memory that would sleep for longer than they asked for, since the clock was ahead when they went to sleep. They
 * are run again, a few at a time, and then sleep for what is left.
 */

import type { WholeKernel } from "../../kernel/kernel.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import type { Sleeps } from "../run/sleeps.ts";

/** Documents read in one look. */
const pageSize = 100;
/** Corrections of the clock below this are ordinary. */
const aheadMsMin = 1000;

export class LateSleepers {
  readonly #kernel: Pick<WholeKernel, "clock" | "store">;
  readonly #sleeps: Sleeps;
  /** Those that went to sleep in this process. */
  #known: string[] = [];
  /** How far the others have been looked through; null when all were. */
  #seen: { wakeAt: number; id: string } | null;

  constructor(kernel: Pick<WholeKernel, "clock" | "store">, sleeps: Sleeps) {
    this.#kernel = kernel;
    this.#sleeps = sleeps;
    this.#seen = { wakeAt: kernel.clock.now(), id: "" };
  }

  /** The clock was put back, or agents came that tasks were waiting for. */
  lookAgain(): void {
    this.#known = this.#sleeps.lateTasks();
    this.#seen = { wakeAt: this.#kernel.clock.now(), id: "" };
  }

  /** Some of them; all of them after so many looks that there are none any more. */
  async next(): Promise<string[]> {
    if (this.#known.length > 0) return this.#known.splice(0, pageSize);
    if (this.#seen === null) return [];
    const { clock, store } = this.#kernel;
    const through = Number.MAX_SAFE_INTEGER;
    const page = await store.due({ kind: "task", after: this.#seen, through, limit: pageSize });
    this.#seen = page.length < pageSize ? null : (page.at(-1) ?? null);
    const late: string[] = [];
    for (const { id } of page) {
      const document = await store.get("task", id);
      const task = document?.body as TaskRecord | undefined;
      // What was recorded at a time that has not come yet.
      const parkedUntil = task?.parked?.until ?? null;
      const isAhead = task !== undefined && Date.parse(task.updated_at) - clock.now() >= aheadMsMin;
      if (parkedUntil !== null && isAhead) late.push(id);
    }
    return late;
  }
}
