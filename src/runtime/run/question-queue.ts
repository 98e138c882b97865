/** A task asks people one thing at a time; the next question waits for its turn. */

import { Semaphore } from "../../web/semaphore.ts";

export class QuestionQueue {
  readonly #questions = new Semaphore(1);
  readonly #budgetQuestions = new Semaphore(1);
  readonly #openStep: string | null;
  readonly #hasArrived: (step: string) => boolean;
  #closeOpen: () => void = () => {};

  /** A question that is open since an earlier run comes first. */
  constructor(openStep: string | null, hasArrived: (step: string) => boolean) {
    this.#openStep = openStep;
    this.#hasArrived = hasArrived;
    if (openStep === null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closeOpen = resolve;
    void this.#questions.run(() => promise);
  }

  ask<T>(step: string, ask: () => Promise<T>): Promise<T> {
    // It may have been answered while this run was coming to it, and the next waits for it.
    if (step === this.#openStep) return ask().finally(this.#closeOpen);
    return this.#hasArrived(step) ? ask() : this.#questions.run(ask);
  }

  /** Branches that come to the same limit ask one after the other. */
  askForBudget<T>(ask: () => Promise<T>): Promise<T> {
    return this.#budgetQuestions.run(ask);
  }
}
