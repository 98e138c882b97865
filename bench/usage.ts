/** What a process used, read from outside of it: processor time by thread, memory, what it wrote, what its data takes. `/proc` is Linux only. */

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Microseconds on a processor, by the names of threads. The compiler's and the collector's threads are one, as are those of libuv. A worker has its own name. */
export type ThreadTimes = Record<string, number>;

const threadNames: Record<string, string> = {
  "node-MainThread": "main",
  "node-V8Worker": "V8 (GC, JIT)",
  "libuv-worker": "libuv",
};

/** `null` where there is no `/proc`. A thread that has ended is not counted. */
export function threadTimes(pid: number): ThreadTimes | null {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return null;
  const times: ThreadTimes = {};
  for (const id of readdirSync(tasks)) {
    const comm = readFileSync(join(tasks, id, "comm"), "utf8").trim();
    const [onCpuNs] = readFileSync(join(tasks, id, "schedstat"), "utf8").split(" ");
    const name = threadNames[comm] ?? comm.replace(/^bridle-/, "");
    times[name] = (times[name] ?? 0) + Number(onCpuNs) / 1000;
  }
  return times;
}

export function total(times: ThreadTimes): number {
  return Object.values(times).reduce((sum, time) => sum + time, 0);
}

export function timesBetween(before: ThreadTimes, after: ThreadTimes): ThreadTimes {
  return Object.fromEntries(Object.entries(after).map(([name, time]) => [name, time - (before[name] ?? 0)]));
}

/** Bytes that the process caused to be written to disks so far. */
export function bytesWritten(pid: number): number {
  return procNumber(pid, "io", /^write_bytes: (\d+)/m);
}

export function residentBytes(pid: number): number {
  return procNumber(pid, "status", /^VmRSS:\s+(\d+) kB/m) * 1024;
}

function procNumber(pid: number, file: string, pattern: RegExp): number {
  const path = `/proc/${pid}/${file}`;
  return existsSync(path) ? Number(pattern.exec(readFileSync(path, "utf8"))?.[1]) : Number.NaN;
}

/** What the database and the blobs hold. The write-ahead log is left out: it grows to a size and is then written over. */
export function bytesOnDisk(data: string): number {
  using database = new DatabaseSync(join(data, "bridle.db"), { readOnly: true });
  const { page_count } = database.prepare("PRAGMA page_count").get() ?? {};
  const { page_size } = database.prepare("PRAGMA page_size").get() ?? {};
  return Number(page_count) * Number(page_size) + blobBytes(data);
}

function blobBytes(data: string): number {
  const blobs = join(data, "blobs");
  if (!existsSync(blobs)) return 0;
  return readdirSync(blobs, { recursive: true, encoding: "utf8" })
    .map((file) => statSync(join(blobs, file)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}
