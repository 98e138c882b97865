/** What is looked at when somebody asks: how the server, its stores and its disk are now. */

import { stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Registry } from "prom-client";
import { serverMetrics, storeMetrics } from "./definitions.ts";
import { instrumentsOf } from "./instruments.ts";
import type { Harmless } from "./metrics.ts";

const storeNames = ["log", "gateway"] as const;
export type StoreName = (typeof storeNames)[number];

export interface ServerState {
  isReady(): boolean;
  /** Runs in memory, and tasks that wait for a place there. */
  load(): { runs: number; ready: number };
  runsMax: number;
  openWebSockets(): number;
  logPosition(): Promise<number>;
  dataDirectory: string;
  stores: Record<StoreName, { directory: string; writeFault(): string | null }>;
}

export function countStores(registry: Registry, harmless: Harmless) {
  const { commitSeconds, groupSize, batchesFailed, ...now } = instrumentsOf(storeMetrics, registry);
  for (const store of storeNames) batchesFailed.inc({ store }, 0);
  /** What a store tells of each group that it wrote. */
  const watch = (store: StoreName) => {
    const labels = { store };
    return {
      groupWritten: harmless((batches: number, failed: number, seconds: number) => {
        commitSeconds.observe(labels, seconds);
        groupSize.observe(labels, batches);
        if (failed > 0) batchesFailed.inc(labels, failed);
      }),
    };
  };
  async function refresh({ stores, dataDirectory, logPosition }: ServerState): Promise<void> {
    now.logPosition.set(await logPosition());
    for (const store of storeNames) {
      const { directory, writeFault } = stores[store];
      now.writable.set({ store }, writeFault() === null ? 1 : 0);
      now.fileBytes.set({ store, file: "database" }, await bytesOf(join(directory, "bridle.db")));
      now.fileBytes.set({ store, file: "wal" }, await bytesOf(join(directory, "bridle.db-wal")));
    }
    const { bavail, bsize } = await statfs(dataDirectory);
    now.freeBytes.set(bavail * bsize);
  }
  return { watch, refresh };
}

export function describeServer(registry: Registry, version: string) {
  const { ready, runs, runsMax, tasksReady, build, failures } = instrumentsOf(serverMetrics, registry);
  build.set({ version, node_version: process.version }, 1);
  function refresh(state: ServerState): void {
    const load = state.load();
    ready.set(state.isReady() ? 1 : 0);
    runs.set(load.runs);
    tasksReady.set(load.ready);
    runsMax.set(state.runsMax);
  }
  return { failures, refresh };
}

/** A WAL is there while the store is open, and not always then. */
async function bytesOf(file: string): Promise<number> {
  return await stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}
