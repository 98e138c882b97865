/** Drops a run from memory that only waits (J5), once this turn of the event loop is over and the task says what it waits for. */

import type { Activity } from "./activity.ts";
import type { Outbox } from "./outbox.ts";
import { earliest, parkedFor, type Wait, type Waits } from "./waits.ts";

export interface ParkingOptions {
  activity: Activity;
  waits: Waits;
  outbox: Outbox;
  isOver(): boolean;
  flush(): Promise<void>;
  park(until: number | null): void;
}

export class Parking {
  readonly #options: ParkingOptions;
  #isScheduled = false;

  constructor(options: ParkingOptions) {
    this.#options = options;
  }

  /** Looked at once this turn is over, when the agent's code has had its chance to ask for more. */
  consider(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const waits = this.#onlyWaits();
      if (waits !== null && this.#options.outbox.isEmpty) void this.#park(waits);
    });
  }

  async #park(waits: readonly Wait[]): Promise<void> {
    const { outbox, flush, park } = this.#options;
    const parked = parkedFor(waits);
    if (parked !== null) {
      // While the note is written one wait may end and another begin. Then the task does not say what it waits for.
      let isNoted = false;
      outbox.add((unit, task) => {
        isNoted = this.#isStill(waits);
        return isNoted ? unit.emit(task, "span.updated", { parked }) : task;
      });
      await flush();
      if (!isNoted || !this.#isStill(waits)) return;
    }
    park(earliest(waits));
  }

  #isStill(waits: readonly Wait[]): boolean {
    const now = this.#onlyWaits();
    return now?.length === waits.length && waits.every((wait, index) => wait === now[index]);
  }

  /** The waits, when there is nothing else and none of them is about to be over. */
  #onlyWaits(): Wait[] | null {
    const { activity, waits, isOver } = this.#options;
    return isOver() || !activity.isNothing ? null : waits.long;
  }
}
