/** Loaded into a server with `--import`: answers every message on the IPC channel with the promises that the main thread made so far. */

import { createHook } from "node:async_hooks";
import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  let promises = 0;
  createHook({
    init: (_id, type) => {
      if (type === "PROMISE") promises += 1;
    },
  }).enable();
  process.on("message", () => process.send?.(promises));
  // The server alone decides how long the process lives.
  process.channel?.unref();
}
