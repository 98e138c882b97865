/**
 * `npm run bench:growth`: whether a server gets slower as its store fills: rate, processor time and memory at so many tasks. BENCH_STORE names the
 * numbers of tasks, such as 10000,100000,1000000.
 */

import { startBridle } from "./bridle.ts";
import { load } from "./load.ts";
import { sendMessage } from "./requests.ts";
import { rounded, spread } from "./statistics.ts";
import { markdown, type Section } from "./table.ts";
import { bytesOnDisk, residentBytes, threadTimes, timesBetween, total } from "./usage.ts";

const connections = 32;
const rounds = 5;
const requests = 1000;

export async function measureGrowth(): Promise<Section> {
  const marks = (process.env.BENCH_STORE ?? "10000,100000").split(",").map(Number);
  await using bridle = await startBridle();
  const target = sendMessage(`${bridle.url}/opvs/rpc`);
  const rows: string[][] = [];
  let stored = 0;
  for (const mark of marks) {
    const missing = mark - rounds * requests - stored;
    if (missing > 0) await load(target, connections, { requests: missing });
    const rates: number[] = [];
    const cpu: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const before = threadTimes(bridle.pid) ?? {};
      rates.push((await load(target, connections, { requests })).perSecond);
      cpu.push(total(timesBetween(before, threadTimes(bridle.pid) ?? {})) / requests);
    }
    stored = mark;
    rows.push([
      String(mark),
      spread(rates),
      spread(cpu),
      rounded(residentBytes(bridle.pid) / 2 ** 20),
      rounded(bytesOnDisk(bridle.data) / mark),
    ]);
  }
  return {
    title: "As the store fills",
    about: `The last ${rounds * requests} tasks before each number, over \`SendMessage\` at ${connections} connections, in ${rounds} rounds of ${requests}.`,
    columns: ["tasks in the store", "tasks/s", "µs CPU per task", "memory, MB", "bytes on disk per task"],
    rows,
  };
}

if (import.meta.main) console.log(markdown(await measureGrowth()));
