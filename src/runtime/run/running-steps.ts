/** The steps of a run whose code runs now, for those who ask what the task is running. */

import type { Clock } from "../../kernel/core/clock.ts";
import type { StepSpan } from "../../kernel/core/events.ts";
import type { Blocker, RunningStep } from "../../kernel/tasks/runtime-status.ts";

export class RunningSteps {
  readonly #clock: Clock;
  readonly #steps = new Map<string, RunningStep>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get list(): readonly RunningStep[] {
    return [...this.#steps.values()];
  }

  /** Until what is given back is called. */
  begin({ step, kind, name }: StepSpan): () => void {
    const since = new Date(this.#clock.now()).toISOString();
    this.#steps.set(step, { step, kind, name, since, blocker: null });
    return () => this.#steps.delete(step);
  }

  /** The step does not get on for a while. */
  async whileBlocked<T>(step: string, blocker: Blocker, wait: () => Promise<T>): Promise<T> {
    const running = this.#steps.get(step);
    if (running !== undefined) running.blocker = blocker;
    try {
      return await wait();
    } finally {
      if (running !== undefined) running.blocker = null;
    }
  }
}
