/** Long work in slices: whoever else has something to do gets their turn in between. */

import { setImmediate } from "node:timers/promises";

/** Well below what a person, or a health check, would notice. */
const sliceMs = 10;

export class Slices {
  #begun = performance.now();

  /** To be awaited between pieces of the work. */
  async next(): Promise<void> {
    if (performance.now() - this.#begun < sliceMs) return;
    await setImmediate();
    this.#begun = performance.now();
  }
}
