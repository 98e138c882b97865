/**
 * Named places where a test can have the process killed on the spot: `BRIDLE_FAIL_POINT=name:7`
 * kills at the seventh visit. Without the variable this is one comparison.
 */

const [target, visits] = (process.env.BRIDLE_FAIL_POINT ?? "").split(":");
let remaining = Number(visits ?? 1);

export function failPoint(
  name: "commit.begun" | "commit.written" | "commit.durable" | "blobs.dropped" | "scrubbed",
): void {
  if (name !== target) return;
  remaining -= 1;
  if (remaining === 0) process.kill(process.pid, "SIGKILL");
}
