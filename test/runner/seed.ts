/**
 * The seed of the run: property tests take it, so that a commit is green or red for everybody. `npm run fuzz` takes others, and
 * is thorough where the gate takes samples.
 */

import fc from "fast-check";

export const seed = Number(process.env.BRIDLE_TEST_SEED ?? 1);

export const isThorough = process.env.BRIDLE_TEST_THOROUGH === "1";

/** Of so many cases a fourth in the gate, since its seed does not change, and four times as many when it is thorough. */
export function cases(count: number): number {
  return isThorough ? count * 4 : Math.ceil(count / 4);
}

/** Numbers from 0 to 1 that are the same in every run with the same seed. */
export function randomFrom(start: number = seed): () => number {
  let state = start >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
