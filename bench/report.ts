/** The pages in docs/benchmarks/: what was measured last, and what each change brought. */

import { execFileSync } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { diskName } from "./bridle.ts";
import { allThreads, type Cost } from "./cost.ts";
import { median, rounded } from "./statistics.ts";
import { markdown, type Section } from "./table.ts";

const folder = join(import.meta.dirname, "../docs/benchmarks");

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: folder, encoding: "utf8" }).trim();
}

/** With a plus sign when the sources are not as committed. */
function commit(): string {
  const changed = git("status", "--porcelain", "--", ":/src", ":/client", ":/package-lock.json") !== "";
  return `${git("rev-parse", "--short", "HEAD")}${changed ? "+" : ""}`;
}

const today = new Date().toISOString().slice(0, 10);

export function writeReport(sections: Section[]): void {
  const machine = [
    ["date", today],
    ["commit", commit()],
    [
      "machine",
      `${availableParallelism()} × ${cpus()[0]?.model ?? "?"}, ${rounded(totalmem() / 2 ** 30)} GB`,
    ],
    ["system", `${type()} ${release()}`],
    ["load", `${loadavg().map(rounded).join(", ")} (averages of 1, 5 and 15 minutes at the end)`],
    ["data on", diskName()],
    ["node", process.version],
  ];
  const head = `<!-- Written by \`npm run bench -- --write\`. Run it again instead of changing this page. -->

# Benchmarks

What durable work costs, measured beside others in the same run. Read the ratios: absolute numbers are those of one machine at one time, on which the load
generator, the server, its threads and everything else share the processors. [History](history.md) has what each change brought, and
[bench](../../bench/README.md) how to run all of this.

`;
  const notMeasured = `## Not measured

Networks, TLS, many tenants, large payloads, slow or metered models, several servers, and losses of power: an fsync costs what this disk says that it costs.
Other servers are as they start without settings.
`;
  const facts = markdown({ title: "Where", about: "One run on:", columns: ["", ""], rows: machine });
  writeFileSync(join(folder, "README.md"), head + [facts, ...sections.map(markdown), notMeasured].join("\n"));
}

/** One more row: the figures that changes are judged by. */
export function appendHistory(change: string, opvsToSdk: number, cost: Cost): void {
  const us = (thread: string) => rounded(median(cost.cpu?.[thread] ?? []));
  const figures = [rounded(opvsToSdk), us(allThreads), us("main")];
  const beside = rounded(median(cost.yardstickCpu));
  const bytes = [rounded(cost.bytesOnDisk), rounded(median(cost.bytesWritten))];
  const cells = [today, commit(), change, ...figures, beside, rounded(cost.promises), ...bytes];
  appendFileSync(join(folder, "history.md"), `| ${cells.join(" | ")} |\n`);
}
