/**
 * `npm run soak -- --minutes N [--seed S] [--store sqlite|postgres]`: random clients of all protocols against a real server that is
 * killed, stopped, cut off and out of disk. A soak that fails keeps its data.
 */

import { parseArgs } from "node:util";
import { soak } from "./soak/soak.ts";
import { startPostgres } from "./support/postgres.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    store: { type: "string", default: "sqlite" },
  },
});

function onFailed(data: string): void {
  console.log(`The data is kept in ${data}. To look at it:`);
  console.log(`  npx bridle doctor --deep --data ${data}`);
  console.log(`  npx bridle serve --data ${data} --agents test/soak/agents.ts`);
}

const seed = Number(values.seed);
const again = `npm run soak -- --minutes ${values.minutes} --seed ${seed} --store ${values.store}`;
console.log(again);
const postgres = values.store === "postgres" ? await startPostgres() : null;
try {
  const report = await soak({ ms: Number(values.minutes) * 60_000, seed, postgres, onFailed });
  console.log(JSON.stringify(report, null, 2));
} catch (error) {
  console.error(error);
  console.error(`\nRepeat it: ${again}`);
  process.exitCode = 1;
}
// PostgreSQL ends with this process.
process.exit();
