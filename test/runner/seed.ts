/**
 * The seed of the run: property tests take it, so that a commit is green or red for everybody. `npm run fuzz` takes others, and
 * is thorough where the gate takes samples.
 */

import fc from "fast-check";

export const seed = Number(process.env.BRIDLE_TEST_SEED ?? 1);

export const isThorough = process.env.BRIDLE_TEST_THOROUGH === "1";

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
