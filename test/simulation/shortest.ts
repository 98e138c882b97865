/** Finds the fewest parts of a plan that still fail. */

import { only, type Plan } from "./plan.ts";
import { type Outcome, simulate } from "./simulation.ts";

export interface Shortest {
  kept: number[];
  outcome: Outcome;
}

/** Leaves out one part after the other, again and again, until each one is needed. */
export async function shortestFailing(plan: Plan, failed: Outcome): Promise<Shortest> {
  let kept = plan.items.map((_, index) => index);
  let outcome = failed;
  let isShorter = true;
  while (isShorter) {
    isShorter = false;
    for (const part of kept) {
      const without = kept.filter((index) => index !== part);
      const tried = await simulate(only(plan, without));
      if (tried.problem === null) continue;
      kept = without;
      outcome = tried;
      isShorter = true;
    }
  }
  return { kept, outcome };
}
