/**
 * Named places where a test can make writing fail. `BRIDLE_FAIL_POINT=name:7` kills the process at the seventh visit;
 * `BRIDLE_FAIL_POINT=name:ENOSPC:/file` throws that error of the operating system at every visit while the file exists. Several are
 * separated by commas.
 * Without the variable this is one comparison.
 */

import { existsSync } from "node:fs";

interface Failure {
  remaining: number;
  /** The code of an error of the operating system. */
  code: string;
  whileThere: string;
}

const failures = new Map<string, Failure>();
for (const one of (process.env.BRIDLE_FAIL_POINT ?? "").split(",")) {
  const [name = "", how = "1", whileThere = ""] = one.split(":");
  if (name !== "") failures.set(name, { remaining: Number(how), code: how, whileThere });
}

/** Wherever the end of the process matters. `npm run kill-report` kills at each of them. */
export const failPoints = [
  "commit.begun",
  "commit.written",
  "commit.syncing",
  "commit.durable",
  "database.opened",
  "blobs.dropped",
  "blob.write",
  "file.write",
  "disk.free",
  "scrubbed",
  /** The code of a step has run, and nothing is recorded. */
  "step.done",
  /** Receipts are signed and not on disk. */
  "receipt.signed",
  /** A receiver has taken a notification, and nothing is recorded. */
  "webhook.taken",
] as const;

export type FailPoint = (typeof failPoints)[number];

/** What a simulation in this process makes of visits: it throws where writing is to fail. */
let watch: ((name: FailPoint) => void) | null = null;

export function watchFailPoints(watcher: ((name: FailPoint) => void) | null): void {
  watch = watcher;
}

export function failPoint(name: FailPoint): void {
  if (watch !== null) watch(name);
  const failure = failures.size === 0 ? undefined : failures.get(name);
  if (failure === undefined) return;
  const { code, whileThere } = failure;
  if (whileThere !== "") {
    if (existsSync(whileThere)) throw Object.assign(new Error(`${code}: simulated`), { code });
    return;
  }
  failure.remaining -= 1;
  if (failure.remaining === 0) process.kill(process.pid, "SIGKILL");
}
