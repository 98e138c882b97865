/**
 * Where tests put their data directories: in memory where the system has room for that. A test can kill a process, not the power:
 * what a process wrote before it died is there in memory as it is on a disk, and waiting for disks is most of what tests do.
 */

import { mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const shared = "/dev/shm";
const bytesMin = 4 * 1024 ** 3;

/** Gone with the process. */
export function scratchDirectory(): string {
  const path = mkdtempSync(join(isRoomy() ? shared : tmpdir(), "bridle-tests-"));
  process.once("exit", () => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Browsers are unpacked there and run. */
function isRoomy(): boolean {
  if (process.env.TMPDIR !== undefined) return false;
  try {
    const mount = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .find((line) => line.split(" ")[1] === shared);
    const { bavail, bsize } = statfsSync(shared);
    return mount !== undefined && !/\bnoexec\b/.test(mount) && bavail * bsize >= bytesMin;
  } catch {
    return false;
  }
}
