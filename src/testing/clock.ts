/** Time and chance of a rehearsal: time stands still until it is moved, and chance gives the same to the same step. */

import { createHash } from "node:crypto";
import type { Clock, StopTimer } from "../kernel/core/clock.ts";
import type { Random } from "../kernel/core/random.ts";
import type { TaskRecord } from "../kernel/kinds/task.ts";

export class MovedClock implements Clock {
  #now: number;
  readonly #timers = new Set<{ at: number; callback: () => void }>();

  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  setTimer(callback: () => void, ms: number): StopTimer {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get nextTimer(): number | null {
    const times = [...this.#timers].map(({ at }) => at);
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Time never goes back; what became due on the way is told in its order. */
  moveTo(time: number): void {
    this.#now = Math.max(this.#now, time);
    const due = [...this.#timers].filter(({ at }) => at <= this.#now).sort((a, b) => a.at - b.at);
    for (const timer of due) {
      // One that came before may have stopped it.
      if (this.#timers.delete(timer)) timer.callback();
    }
  }
}

export const steadyRandom: Random = {
  random: (task, step) => digestOf(task, step).readUIntBE(0, 6) / 2 ** 48,
  uuid(task, step) {
    const hex = digestOf(task, step).toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  },
};

/** Ids are new in every rehearsal, so a task is known by whose it is and where it came from. */
function digestOf({ agent, parent_step }: TaskRecord, step: string): Buffer {
  return createHash("sha256")
    .update(JSON.stringify([agent.name, parent_step, step]))
    .digest();
}
