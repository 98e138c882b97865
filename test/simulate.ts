/**
 * `npm run simulate -- --seeds N [--seed S] [--jobs J]`: plays the plans of N seeds, beginning with S. The first that fails ends it; its
 * shortest failing schedule is printed. `--keep 0,2` plays only these parts of the plan of one seed.
 */

import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { describe, only, planOf } from "./simulation/plan.ts";
import { shortestFailing } from "./simulation/shortest.ts";
import { simulate } from "./simulation/simulation.ts";

/** Seeds that a process is given at once. */
const share = 25;

interface Share {
  from: number;
  count: number;
}

interface Played {
  seeds: number;
  events: number;
  failed: number | null;
}

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    seed: { type: "string" },
    jobs: { type: "string", default: String(availableParallelism()) },
    keep: { type: "string" },
    worker: { type: "boolean", default: false },
  },
});

async function playShare({ from, count }: Share): Promise<Played> {
  let events = 0;
  for (let seed = from; seed < from + count; seed++) {
    const outcome = await simulate(planOf(seed));
    events += outcome.events;
    if (outcome.problem !== null) return { seeds: seed - from + 1, events, failed: seed };
  }
  return { seeds: count, events, failed: null };
}

function work(): void {
  process.on("message", async (given: Share) => {
    process.send?.(await playShare(given));
  });
}

async function playAll(first: number, count: number): Promise<Played> {
  const total: Played = { seeds: 0, events: 0, failed: null };
  let next = first;
  const last = first + count;
  await Promise.all(
    Array.from({ length: Number(values.jobs) }, async () => {
      const worker = fork(import.meta.filename, ["--worker"]);
      while (next < last && total.failed === null) {
        const given = { from: next, count: Math.min(share, last - next) };
        next += given.count;
        const played = await answerOf(worker, given);
        total.seeds += played.seeds;
        total.events += played.events;
        if (played.failed !== null) total.failed = Math.min(played.failed, total.failed ?? played.failed);
      }
      worker.disconnect();
    }),
  );
  return total;
}

function answerOf(worker: ChildProcess, given: Share): Promise<Played> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) =>
      reject(new Error(`A process ended with ${code} at one of the seeds from ${given.from}`));
    worker.once("exit", ended);
    worker.once("message", (played: Played) => {
      worker.off("exit", ended);
      resolve(played);
    });
    worker.send(given);
  });
}

/** Prints the shortest schedule of a seed that fails; true when it does not. */
async function playOne(seed: number, parts: readonly number[] | null): Promise<boolean> {
  const whole = planOf(seed);
  const plan = parts === null ? whole : only(whole, parts);
  const outcome = await simulate(plan);
  if (outcome.problem === null) {
    const { steps, events, digest } = outcome;
    console.log(`Seed ${seed} holds: ${steps} steps, ${events} events, log ${digest}.\n${describe(plan)}`);
    return true;
  }
  console.log(`Seed ${seed} fails: ${outcome.problem.message}\nLooking for the shortest schedule …`);
  const { kept, outcome: shortest } = await shortestFailing(plan, outcome);
  const named = kept.map((index) => parts?.[index] ?? index);
  console.log(`\n${shortest.problem?.stack}\n\n${describe(only(plan, kept))}`);
  for (const line of shortest.complaints) console.log(line);
  console.log(`\nRepeat it: npm run simulate -- --seed ${seed} --keep ${named.join(",")}`);
  return false;
}

async function main(): Promise<boolean> {
  const first = Number(values.seed ?? 1);
  if (values.keep !== undefined) return await playOne(first, values.keep.split(",").map(Number));
  const count = Number(values.seeds);
  if (count === 1) return await playOne(first, null);
  const startedAt = performance.now();
  const { seeds, events, failed } = await playAll(first, count);
  const seconds = (performance.now() - startedAt) / 1000;
  const rate = `${seconds.toFixed(1)} s, ${(seeds / seconds).toFixed(0)} seeds a second`;
  console.log(`${seeds} seeds from ${first}: ${events} events in ${rate}`);
  return failed === null || (await playOne(failed, null));
}

if (values.worker) work();
else process.exitCode = (await main()) ? 0 : 1;
