/** Property tests take the seed of the run, so that a commit is green or red for everybody; `npm run fuzz` takes others. */

import fc from "fast-check";

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env.BRIDLE_TEST_SEED) });
