/**
 * `npm run fuzz -- [--minutes 10] [path …]`: the tests with other seeds and all their cases, again and again until the time is up or
 * one fails; the seed that is printed repeats it (`npm test -- --seed N`).
 */

import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";

/** Files whose tests try random cases, or more of them than the gate does. */
const randomized = [
  "src/cli/terminal/text",
  "src/gate/spelling",
  "src/harp/core",
  "src/harp/gateway",
  "src/kernel/core/json-values",
  "src/kernel/tasks/lifecycle",
  "src/policy",
  "src/receipts",
  "src/sdk/shell",
  "src/sdk/verify",
  "src/surfaces",
  "test/client/retry",
  "test/crash",
  "test/fuzzing",
  "test/harp/fuzz",
  "test/harp/hostile-gateway",
  "test/log-following",
  "test/openharness/fuzz",
  "test/opvs/equivalence",
  "test/parallel-runs",
  "test/receipts-crash",
  "test/redaction",
  "test/simulation",
  "test/soak",
  "test/reliability/rel-r3.alone",
  "test/reliability/rel-r7",
  "test/reliability/rel-r11-lists",
  "test/security/import-mutations",
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: "string", default: "10" } },
});
const until = Date.now() + Number(values.minutes) * 60_000;
const paths = positionals.length === 0 ? randomized : positionals;

do {
  const seed = String(randomInt(2 ** 31));
  const args = [join(import.meta.dirname, "run.ts"), "--seed", seed, ...paths];
  const env = { ...process.env, BRIDLE_TEST_THOROUGH: "1" };
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit", env });
  process.exitCode = status ?? 1;
} while (process.exitCode === 0 && Date.now() < until);
