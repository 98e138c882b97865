/**
 * How long sleeps of this process still last. A sleep's end is a wall time in the log, so that it means something after a
 * restart; its duration is measured by a clock that is never set. Where the two differ, the earlier one ends the sleep.
 */

import { type Clock, steadyNow } from "../../kernel/core/clock.ts";

/** Corrections of the clock below this are ordinary. */
const lateMsMin = 1000;
/** Above this the oldest are forgotten. After the clock is put back, a forgotten sleep may begin its duration anew. */
const sleepsMaxDefault = 50_000;

interface Sleep {
  taskId: string;
  /** By the steady clock. */
  endsAt: number;
  /** By the wall clock, as the log has it. */
  until: number;
}

export class Sleeps {
  readonly #clock: Clock;
  readonly #sleepsMax: number;
  readonly #sleeps = new Map<string, Sleep>();

  constructor(clock: Clock, sleepsMax = sleepsMaxDefault) {
    this.#clock = clock;
    this.#sleepsMax = sleepsMax;
  }

  /**
   * What is left of a sleep of so many milliseconds that ends at `until`, as the log has it. When that is more than it asked
   * for, the clock was ahead when it was recorded.
   */
  left(taskId: string, step: string, { ms, until }: { ms: number; until: number }): number {
    const steady = steadyNow(this.#clock);
    const key = keyOf(taskId, step);
    const byWall = until - this.#clock.now();
    const endsAt = this.#sleeps.get(key)?.endsAt ?? steady + Math.min(byWall, ms);
    this.#sleeps.set(key, { taskId, endsAt, until });
    const oldest = this.#sleeps.size > this.#sleepsMax ? this.#sleeps.keys().next().value : undefined;
    if (oldest !== undefined) this.#sleeps.delete(oldest);
    return Math.min(byWall, Math.ceil(endsAt - steady));
  }

  /** Whether a sleep that ends at `until` would end too late. */
  isLate(until: number, left: number): boolean {
    return until - this.#clock.now() - left >= lateMsMin;
  }

  forget(taskId: string, step: string): void {
    this.#sleeps.delete(keyOf(taskId, step));
  }

  /** The tasks with sleeps that would end too late, since the clock was put back. */
  lateTasks(): string[] {
    const steady = steadyNow(this.#clock);
    const late = [...this.#sleeps.values()].filter(({ until, endsAt }) =>
      this.isLate(until, endsAt - steady),
    );
    return [...new Set(late.map(({ taskId }) => taskId))];
  }
}

function keyOf(taskId: string, step: string): string {
  return `${taskId} ${step}`;
}
