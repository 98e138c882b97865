/** Decides, and loads what the decision asks for, until it is made. */

import type { Caller } from "../../policy/caller.ts";
import { pauseIfLate } from "../../slices.ts";
import { Loaded, NotLoaded } from "./loaded.ts";
import { type KernelDeps, Unit } from "./unit.ts";

/**
 * Rounds of one decision. Most take one or two; what walks down a tree of tasks takes a few for each level, and nobody nests work
 * so deeply. A decision that comes this far asks for something new each time, and would go on for ever.
 */
const roundsMax = 10_000;

export async function decided<T>(
  deps: KernelDeps,
  caller: Caller,
  decide: (unit: Unit) => T,
  loaded: Loaded = new Loaded(deps),
): Promise<T> {
  for (let round = 1; ; round++) {
    try {
      return decide(new Unit(deps, caller, loaded));
    } catch (error) {
      // What is asked for may be due to texts that were not searched (S1).
      if (!(error instanceof NotLoaded) || loaded.budget.isExceeded) throw error;
      if (round >= roundsMax) throw new Error(`Not decided after ${round} rounds`);
      await loaded.load(error);
      // What is read from memory does not wait for anything.
      await pauseIfLate();
    }
  }
}
