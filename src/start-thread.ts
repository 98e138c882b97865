/** Threads of this process. */

import { getCompileCacheDir } from "node:module";
import { dirname } from "node:path";
import { Worker } from "node:worker_threads";

/** What threads hold is short-lived. Left alone, each takes tens of megabytes more before it collects its garbage. */
const resourceLimits = { maxYoungGenerationSizeMb: 12 };

export function startThread(module: URL, name: string, workerData: object): Worker {
  // What the process was told to load, a thread need not.
  return new Worker(module, { workerData, name, execArgv: [], env: environment(), resourceLimits });
}

/** A thread keeps what it compiled where its process does only if it is told; what it was told is a folder of that place. */
function environment(): NodeJS.ProcessEnv {
  const cache = getCompileCacheDir();
  return cache === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(cache) };
}
