/** Asking the journal: code that is run again takes its steps out in the order of the log, or the run ends (J2, J6). */

import type { Activity } from "./activity.ts";
import { NondeterministicRun } from "./failures.ts";
import type { Journal, JournalEntry } from "./journal.ts";

export interface RecallOptions {
  journal: Journal;
  activity: Activity;
  /** Ends the run. */
  stop(error: Error): Promise<never>;
}

export interface TurnOptions {
  /** What has to be done before a result is given; the next one waits for it. */
  before?(key: string): Promise<void>;
  /** A recorded step was not asked for when its turn came. */
  leftOut(recorded: string, attempted: string): Promise<void>;
}

export class Recall {
  readonly #options: RecallOptions;

  constructor(options: RecallOptions) {
    this.#options = options;
  }

  take(key: string): JournalEntry | undefined {
    this.#options.activity.moved();
    return this.#options.journal.take(key);
  }

  /** A step that was never recorded is new once nothing recorded is left: other branches may have a long way to go. */
  async othersCatchUp(key: string): Promise<void> {
    const { journal, activity } = this.#options;
    const isCaughtUp = () => journal.firstLeft === undefined && journal.nextTurn === undefined;
    if (isCaughtUp() || (await activity.holds(isCaughtUp))) return;
    await this.diverged(journal.firstLeft ?? "the end", key);
  }

  /**
   * Results come back in the order in which they once came, so that a race has the same winner. If the one whose turn it
   * is is not asked for, the code has changed.
   */
  async turnOf(key: string, { before, leftOut }: TurnOptions): Promise<void> {
    const { journal, activity } = this.#options;
    const isNext = () => journal.nextTurn === key;
    while (!isNext() && !(await activity.holds(isNext))) {
      const next = journal.nextTurn;
      if (next !== undefined && journal.has(next)) await leftOut(next, key);
    }
    await before?.(key);
    await activity.takeTurn();
    activity.moved();
    journal.given();
  }

  assertNothingLeft(): Promise<void> | null {
    return this.#isNothingLeft() ? null : this.#untilNothingLeft();
  }

  async #untilNothingLeft(): Promise<void> {
    if (await this.#options.activity.holds(() => this.#isNothingLeft())) return;
    throw new NondeterministicRun(this.#options.journal.firstLeft ?? "a step", "the end");
  }

  #isNothingLeft(): boolean {
    return this.#options.journal.firstLeft === undefined;
  }

  /** Ends the run as not repeatable. */
  async diverged(recorded: string, attempted: string): Promise<never> {
    return await this.#options.stop(new NondeterministicRun(recorded, attempted));
  }
}
