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

/** Without waiting, where everything is in memory; throws then where it would reject. */
export function decided<T>(
  deps: KernelDeps,
  caller: Caller,
  decide: (unit: Unit) => T,
  loaded: Loaded = new Loaded(deps),
): T | Promise<T> {
  try {
    return decide(new Unit(deps, caller, loaded));
  } catch (error) {
    return decidedWith(missingOf(error, loaded), deps, caller, decide, loaded);
  }
}

async function decidedWith<T>(
  first: NotLoaded,
  deps: KernelDeps,
  caller: Caller,
  decide: (unit: Unit) => T,
  loaded: Loaded,
): Promise<T> {
  let missing = first;
  for (let round = 2; round <= roundsMax; round++) {
    await loaded.load(missing);
    // What is read from memory does not wait for anything.
    await pauseIfLate();
    try {
      return decide(new Unit(deps, caller, loaded));
    } catch (error) {
      missing = missingOf(error, loaded);
    }
  }
  throw new Error(`Not decided after ${roundsMax} rounds`);
}

/** What has to be loaded before a decision is made; throws every other error. */
function missingOf(error: unknown, { budget }: Loaded): NotLoaded {
  // What is asked for may be due to texts that were not searched (S1).
  if (!(error instanceof NotLoaded) || budget.isExceeded) throw error;
  return error;
}
