/**
 * Loaded into a server with `--expose-gc --import`: answers every message on the IPC channel with the bytes that are in use once all garbage is
 * collected. What is resident also holds garbage and free pages, megabytes that come and go.
 */

import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  process.on("message", () => {
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    process.send?.(heapUsed + external);
  });
  // The server alone decides how long the process lives.
  process.channel?.unref();
}
