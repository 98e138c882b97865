/**
 * `npm run bench:cost`: what one `SendMessage` costs the server: processor time of each thread, promises, bytes on disk and written. Amounts, not
 * rates, so two runs can be compared on a machine that has other work. BENCH_REQUESTS and BENCH_ROUNDS change how many.
 */

import { benchFile, diskName, startBridle } from "./bridle.ts";
import { load } from "./load.ts";
import { sendMessage } from "./requests.ts";
import { spread } from "./statistics.ts";
import { bytesOnDisk, bytesWritten, threadTimes, timesBetween, total } from "./usage.ts";

const connections = 32;
const warmUp = { requests: 2000 };
/** Counting promises slows the server down, and their number hardly varies. */
const counted = { requests: 500 };

export interface Cost {
  /** Microseconds on a processor per request, a value for each round, by thread; `null` without `/proc`. */
  cpu: Record<string, number[]> | null;
  promises: number;
  bytesOnDisk: number;
  /** One for each round; `NaN` without `/proc`. */
  bytesWritten: number[];
}

export async function measureCost(requests: number, rounds: number): Promise<Cost> {
  await using bridle = await startBridle();
  const target = sendMessage(`${bridle.url}/opvs/rpc`);
  await load(target, connections, warmUp);
  const diskBefore = bytesOnDisk(bridle.data);
  const cpu: Record<string, number[]> = {};
  const written: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const [before, writtenBefore] = [threadTimes(bridle.pid), bytesWritten(bridle.pid)];
    await load(target, connections, { requests });
    const after = threadTimes(bridle.pid);
    written.push((bytesWritten(bridle.pid) - writtenBefore) / requests);
    if (before === null || after === null) continue;
    const times = timesBetween(before, after);
    for (const [name, time] of [...Object.entries(times), ["all threads", total(times)] as const]) {
      cpu[name] ??= [];
      cpu[name].push(time / requests);
    }
  }
  return {
    cpu: Object.keys(cpu).length > 0 ? cpu : null,
    promises: await countPromises(),
    bytesOnDisk: (bytesOnDisk(bridle.data) - diskBefore) / (requests * rounds),
    bytesWritten: written,
  };
}

async function countPromises(): Promise<number> {
  await using bridle = await startBridle({ node: ["--import", benchFile("./promise-count.ts")], ipc: true });
  const target = sendMessage(`${bridle.url}/opvs/rpc`);
  await load(target, connections, counted);
  const before = Number(await bridle.ask());
  await load(target, connections, counted);
  return (Number(await bridle.ask()) - before) / counted.requests;
}

/** Label and value of each line, in the order of importance. */
export function costRows({ cpu, promises, bytesOnDisk, bytesWritten }: Cost): [string, string][] {
  // What takes less than this in all rounds is not worth a line.
  const noticeable = ([, values]: [string, number[]]) => Math.max(...values) >= 1;
  const times = Object.entries(cpu ?? {})
    .filter(noticeable)
    .toSorted(([, a], [, b]) => Math.max(...b) - Math.max(...a));
  return [
    ...times.map(([name, values]): [string, string] => [`µs CPU, ${name}`, spread(values)]),
    ["promises", promises.toFixed(0)],
    ["bytes on disk", bytesOnDisk.toFixed(0)],
    ["bytes written", spread(bytesWritten)],
  ];
}

if (import.meta.main) {
  const requests = Number(process.env.BENCH_REQUESTS ?? 3000);
  const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
  console.log(`One SendMessage (echo), ${connections} connections, ${rounds} rounds of ${requests}.`);
  console.log(`Median (lowest–highest). Data on ${diskName()}.\n`);
  for (const [label, value] of costRows(await measureCost(requests, rounds)))
    console.log(`${label.padEnd(24)} ${value}`);
}
