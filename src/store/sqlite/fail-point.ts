/**
 * Named places where a test can make writing fail. `BRIDLE_FAIL_POINT=name:7` kills the process at the seventh visit;
 * `BRIDLE_FAIL_POINT=name:ENOSPC:/file` throws that error of the operating system at every visit while the file exists.
 * Without the variable this is one comparison.
 */

import { existsSync } from "node:fs";

const [target, how = "1", whileThere = ""] = (process.env.BRIDLE_FAIL_POINT ?? "").split(":");
let remaining = Number(how);

type FailPoint =
  | "commit.begun"
  | "commit.written"
  | "commit.durable"
  | "blobs.dropped"
  | "blob.write"
  | "file.write"
  | "disk.free"
  | "scrubbed";

export function failPoint(name: FailPoint): void {
  if (name !== target) return;
  if (whileThere !== "") {
    if (existsSync(whileThere)) throw Object.assign(new Error(`${how}: simulated`), { code: how });
    return;
  }
  remaining -= 1;
  if (remaining === 0) process.kill(process.pid, "SIGKILL");
}
