/**
 * `npm run bench:cost`: what one `SendMessage` costs the server: processor time of each thread, promises, JSON, bytes on disk and written. Amounts vary
 * less than rates on a machine that has other work, and there is a yardstick beside them. BENCH_REQUESTS and BENCH_ROUNDS change how many.
 */

import { benchFile, diskName, startBridle } from "./bridle.ts";
import { load } from "./load.ts";
import { startProcess } from "./process.ts";
import { sendMessage } from "./requests.ts";
import { rounded, spread } from "./statistics.ts";
import { markdown, type Section } from "./table.ts";
import { bytesOnDisk, bytesWritten, type ThreadTimes, threadTimes, timesBetween, total } from "./usage.ts";

const connections = 32;
export const allThreads = "all threads";
const warmUp = { requests: 2000 };
/** Counting slows the server down, and the numbers hardly vary. */
const counted = { requests: 500 };

interface WorkCounts {
  promises: number;
  jsonCalls: number;
  jsonCharacters: number;
}

export interface Cost extends WorkCounts {
  /** Microseconds on a processor per request, a value for each round, by thread; `null` without `/proc`. */
  cpu: Record<string, number[]> | null;
  /** The same of the A2A SDK's server, all threads: the yardstick, since a busy machine makes all code slower. */
  yardstickCpu: number[];
  bytesOnDisk: number;
  /** One for each round; `NaN` without `/proc`. */
  bytesWritten: number[];
}

export async function measureCost(requests: number, rounds: number): Promise<Cost> {
  await using sdk = await startProcess([benchFile("./a2a-sdk-server.ts")]);
  await using bridle = await startBridle();
  const target = sendMessage(`${bridle.url}/opvs/rpc`);
  const yardstick = sendMessage(sdk.url);
  await load(yardstick, connections, warmUp);
  await load(target, connections, warmUp);
  const diskBefore = bytesOnDisk(bridle.data);
  const cpu: Record<string, number[]> = {};
  const yardstickCpu: number[] = [];
  const written: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const writtenBefore = bytesWritten(bridle.pid);
    const times = await cpuOf(bridle.pid, () => load(target, connections, { requests }));
    written.push((bytesWritten(bridle.pid) - writtenBefore) / requests);
    const yardstickTimes = await cpuOf(sdk.pid, () => load(yardstick, connections, { requests }));
    if (times === null || yardstickTimes === null) continue;
    yardstickCpu.push(total(yardstickTimes) / requests);
    for (const [name, time] of [...Object.entries(times), [allThreads, total(times)] as const]) {
      cpu[name] ??= [];
      cpu[name].push(time / requests);
    }
  }
  return {
    cpu: Object.keys(cpu).length > 0 ? cpu : null,
    yardstickCpu,
    ...(await countWork()),
    bytesOnDisk: (bytesOnDisk(bridle.data) - diskBefore) / (requests * rounds),
    bytesWritten: written,
  };
}

async function cpuOf(pid: number, act: () => Promise<unknown>): Promise<ThreadTimes | null> {
  const before = threadTimes(pid);
  await act();
  const after = threadTimes(pid);
  return before === null || after === null ? null : timesBetween(before, after);
}

async function countWork(): Promise<WorkCounts> {
  await using bridle = await startBridle({ node: ["--import", benchFile("./work-counts.ts")], ipc: true });
  const target = sendMessage(`${bridle.url}/opvs/rpc`);
  await load(target, connections, counted);
  const before = readWorkCounts(await bridle.ask());
  await load(target, connections, counted);
  const after = readWorkCounts(await bridle.ask());
  const perRequest = (name: keyof WorkCounts) => (after[name] - before[name]) / counted.requests;
  return {
    promises: perRequest("promises"),
    jsonCalls: perRequest("jsonCalls"),
    jsonCharacters: perRequest("jsonCharacters"),
  };
}

/** As work-counts.ts sends them. */
function readWorkCounts(answer: unknown): WorkCounts {
  if (!Array.isArray(answer)) throw new Error("The server did not answer with its counts");
  const [promises = Number.NaN, jsonCalls = Number.NaN, jsonCharacters = Number.NaN] = answer.map(Number);
  return { promises, jsonCalls, jsonCharacters };
}

export function costSection({ cpu, yardstickCpu, bytesOnDisk, bytesWritten, ...work }: Cost): Section {
  // What takes less than this in all rounds is not worth a line.
  const noticeable = ([, values]: [string, number[]]) => Math.max(...values) >= 1;
  const times = Object.entries(cpu ?? {})
    .filter(noticeable)
    .toSorted(([, a], [, b]) => Math.max(...b) - Math.max(...a));
  const ratios = (cpu?.[allThreads] ?? []).map((us, round) => us / (yardstickCpu[round] ?? Number.NaN));
  return {
    title: "Cost of one SendMessage",
    about: [
      `What one \`SendMessage\` (an \`echo\` task, JSON-RPC, ${connections} connections) takes from the server: time on a processor by thread, in microseconds; promises and JSON that the`,
      "main thread makes; what the database grows by; and what the process has the kernel write to disks, the write-ahead log and its checkpoints among it.",
      "A busy machine makes all code take longer: the A2A SDK's server, in memory, is the yardstick.",
      ...(cpu === null ? ["Times and written bytes come from `/proc`, which only Linux has."] : []),
    ].join("\n"),
    columns: ["", "for each request"],
    rows: [
      ...times.map(([name, values]) => [`CPU, ${name}`, `${spread(values)} µs`]),
      ...(cpu === null
        ? []
        : [
            ["CPU, a2a-js in the same rounds", `${spread(yardstickCpu)} µs`],
            ["CPU, ratio to a2a-js", spread(ratios)],
          ]),
      ["promises", rounded(work.promises)],
      ["JSON.stringify", `${rounded(work.jsonCalls)} calls, ${rounded(work.jsonCharacters)} characters`],
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
