/**
 * `npm run bench`: what durable work costs, beside a bare HTTP echo and the A2A SDK in memory. `--all` adds what takes minutes, `--write` writes
 * docs/benchmarks/README.md, `--change "what changed"` adds a line to docs/benchmarks/history.md.
 */

import { parseArgs } from "node:util";
import { costSection, measureCost } from "./cost.ts";
import { measureGrowth } from "./growth.ts";
import { measurePeers, peersAreInstalled } from "./peers.ts";
import { measureProfile } from "./profile.ts";
import { measureRates } from "./rates.ts";
import { appendHistory, writeReport } from "./report.ts";
import { measureSizing } from "./sizing.ts";
import { measureSteps } from "./steps.ts";
import { markdown, type Section } from "./table.ts";

const { values: options } = parseArgs({
  options: {
    all: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    change: { type: "string" },
  },
});
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const seconds = Number(process.env.BENCH_SECONDS ?? 2);
const requests = Number(process.env.BENCH_REQUESTS ?? 2000);

const sections: Section[] = [];
function add(section: Section): void {
  sections.push(section);
  console.log(markdown(section));
}

const rates = await measureRates(seconds, rounds);
add(rates.section);
const cost = await measureCost(requests, rounds);
add(costSection(cost));
add((await measureProfile(requests * rounds)).section);
add(await measureSteps(seconds, rounds));
if (options.all) {
  add(await measureSizing());
  add(await measureGrowth());
  if (peersAreInstalled()) add(await measurePeers(seconds, rounds));
}
if (options.write) writeReport(sections);
if (options.change !== undefined) appendHistory(options.change, rates.opvsToSdk, cost);
