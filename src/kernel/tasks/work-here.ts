/**
 * What this process is doing with tasks at this moment. None of it is in the log, because it is over with the process: the runtime
 * tells it, and explanations are made from it.
 */

import type { StepSpan } from "../core/events.ts";

/** What a step under way is held up by. */
export type Hindrance =
  /** It failed and is tried again. */
  | { by: "retry"; what: string; attempt: number; code: string; message: string; until: string }
  /** What is left of the budget is reserved for others. */
  | { by: "budget" };

/** A step whose code runs. */
export interface Doing extends StepSpan {
  since: string;
  hindrance: Hindrance | null;
}

export interface WorkFacts {
  /** Runs in memory, and how many there may be at once. */
  running: number;
  concurrency: number;
  /** Tasks that could run and wait for their turn. */
  queued: number;
  isDraining: boolean;
}

export interface WorkSource {
  facts(): WorkFacts;
  /** The steps of the run of a task, the oldest first; null when the task has no run in memory. */
  doing(taskId: string): readonly Doing[] | null;
}

/** Until a runtime has started, nothing runs. */
const nobody: WorkSource = {
  facts: () => ({ running: 0, concurrency: 0, queued: 0, isDraining: false }),
  doing: () => null,
};

export class WorkHere implements WorkSource {
  #source = nobody;

  isToldBy(source: WorkSource): void {
    this.#source = source;
  }

  facts(): WorkFacts {
    return this.#source.facts();
  }

  doing(taskId: string): readonly Doing[] | null {
    return this.#source.doing(taskId);
  }
}
