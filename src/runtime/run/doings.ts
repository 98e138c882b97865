/** The steps of a run whose code runs now, for those who ask what the task is doing. */

import type { Clock } from "../../kernel/core/clock.ts";
import type { StepSpan } from "../../kernel/core/events.ts";
import type { Doing, Hindrance } from "../../kernel/tasks/work-here.ts";

export class Doings {
  readonly #clock: Clock;
  readonly #steps = new Map<string, Doing>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get list(): readonly Doing[] {
    return [...this.#steps.values()];
  }

  /** Until what is given back is called. */
  begin({ step, kind, name }: StepSpan): () => void {
    const since = new Date(this.#clock.now()).toISOString();
    this.#steps.set(step, { step, kind, name, since, hindrance: null });
    return () => this.#steps.delete(step);
  }

  /** The step does not get on for a while. */
  async hindered<T>(step: string, hindrance: Hindrance, wait: () => Promise<T>): Promise<T> {
    const doing = this.#steps.get(step);
    if (doing !== undefined) doing.hindrance = hindrance;
    try {
      return await wait();
    } finally {
      if (doing !== undefined) doing.hindrance = null;
    }
  }
}
