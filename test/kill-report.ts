/**
 * `npm run kill-report [-- --store sqlite|postgres|both --protocols rest,opvs --visits 40]`: kills a server at every named fail point,
 * in every state of a task, over every protocol, and writes docs/reliability.md.
 */

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { failPoints } from "../src/store/fail-point.ts";
import { type Killed, kills } from "./kill/kills.ts";
import { reportOf } from "./kill/report.ts";
import { submitters } from "./soak/submitters.ts";
import { startPostgres } from "./support/postgres.ts";

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "both" },
    protocols: { type: "string", default: Object.keys(submitters).join(",") },
    visits: { type: "string", default: "40" },
  },
});

const root = join(import.meta.dirname, "..");
const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
const stores = values.store === "both" ? ["sqlite", "postgres"] : [values.store];
const all: Killed[] = [];
for (const store of stores) {
  await kills({
    points: failPoints,
    protocols: values.protocols.split(","),
    postgres: store === "postgres" ? await startPostgres() : null,
    visitsMax: Number(values.visits),
    onKilled(killed) {
      all.push(killed);
      const { point, protocol, visit, state, fault } = killed;
      console.log(`${store} ${protocol} ${point}:${visit} ${state} ${fault ?? "ok"}`);
    },
  });
}
const args = process.argv.slice(2).join(" ");
writeFileSync(join(root, "docs/reliability.md"), reportOf(all, { commit, args, at: new Date() }));
const faults = all.filter(({ fault }) => fault !== null);
console.log(`${all.length} kills, ${faults.length} faults: docs/reliability.md`);
process.exit(faults.length === 0 ? 0 : 1);
