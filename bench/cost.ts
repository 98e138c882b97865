/**
 * `npm run bench:cost`: what one `SendMessage` costs the server: processor time of each thread, promises, bytes on disk and written. Amounts, not
 * rates, so two runs can be compared on a machine that has other work. BENCH_REQUESTS and BENCH_ROUNDS change how many.
 */

import { benchFile, diskName, startBridle } from "./bridle.ts";
import { load } from "./load.ts";
import { sendMessage } from "./requests.ts";
import { rounded, spread } from "./statistics.ts";
import { markdown, type Section } from "./table.ts";
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

export function costSection({ cpu, promises, bytesOnDisk, bytesWritten }: Cost): Section {
  // What takes less than this in all rounds is not worth a line.
  const noticeable = ([, values]: [string, number[]]) => Math.max(...values) >= 1;
  const times = Object.entries(cpu ?? {})
    .filter(noticeable)
    .toSorted(([, a], [, b]) => Math.max(...b) - Math.max(...a));
  return {
    title: "Cost of one SendMessage",
    about: [
      `What one \`SendMessage\` (an \`echo\` task, JSON-RPC, ${connections} connections) takes from the server: time on a processor by thread, in microseconds; promises that the`,
      "main thread makes; what the database grows by; and what the process has the kernel write to disks, the write-ahead log and its checkpoints among it.",
      ...(cpu === null ? ["Times and written bytes come from `/proc`, which only Linux has."] : []),
    ].join("\n"),
    columns: ["", "for each request"],
    rows: [
      ...times.map(([name, values]) => [`CPU, ${name}`, `${spread(values)} µs`]),
      ["promises", rounded(promises)],
      ["on disk", `${rounded(bytesOnDisk)} bytes`],
      ...(cpu === null ? [] : [["written", `${spread(bytesWritten)} bytes`]]),
    ],
  };
}

if (import.meta.main) {
  const requests = Number(process.env.BENCH_REQUESTS ?? 3000);
  const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
  console.log(`${rounds} rounds of ${requests} requests: median (lowest–highest). Data on ${diskName()}.\n`);
  console.log(markdown(costSection(await measureCost(requests, rounds))));
}
