/**
 * What this process is doing with tasks at this moment. None of it is in the log, because it is over with the process: the runtime
 * tells it, and explanations are made from it.
 */

import type { StepSpan } from "../core/events.ts";

/** What a step under way is held up by. */
export type Blocker =
  /** It failed and is tried again. */
  | { by: "retry"; what: string; attempt: number; code: string; message: string; until: string }
  /** What is left of the budget is reserved for others. */
  | { by: "budget" };

/** A step whose code runs. */
export interface RunningStep extends StepSpan {
  since: string;
  blocker: Blocker | null;
}

export interface WorkFacts {
  /** Runs in memory, and how many there may be at once. */
  running: number;
  concurrency: number;
  /** Tasks that could run and wait for their turn. */
  queued: number;
  isDraining: boolean;
}

export interface RuntimeStatusSource {
  facts(): WorkFacts;
  /** The steps of the run of a task, the oldest first; null when the task has no run in memory. */
  runningSteps(taskId: string): readonly RunningStep[] | null;
}

/** Until a runtime has started, nothing runs. */
const nobody: RuntimeStatusSource = {
  facts: () => ({ running: 0, concurrency: 0, queued: 0, isDraining: false }),
  runningSteps: () => null,
};

export class RuntimeStatus implements RuntimeStatusSource {
  #source = nobody;

  attach(source: RuntimeStatusSource): void {
    this.#source = source;
  }

  facts(): WorkFacts {
    return this.#source.facts();
  }

  runningSteps(taskId: string): readonly RunningStep[] | null {
    return this.#source.runningSteps(taskId);
  }
}
