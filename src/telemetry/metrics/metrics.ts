/**
 * The metrics of one server. Everything is in a registry of its own, so that servers in one process do not count together; what is
 * told by the log and by requests counts from the start of the process. Whatever goes wrong here stays here.
 */

import type { Logger } from "pino";
import { collectDefaultMetrics, Registry } from "prom-client";
import type { Kernel } from "../../kernel/kernel.ts";
import { countRequests } from "./requests.ts";
import { countStores, describeServer, type ServerState, type StoreName } from "./state.ts";
import { WorkMetrics, type WorkOptions } from "./work.ts";

/** Lets a function fail without anybody noticing but the log and a number. */
export type Harmless = <Args extends unknown[]>(act: (...args: Args) => void) => (...args: Args) => void;

export interface Metrics {
  /** What a store tells of what it writes. */
  store(name: StoreName): { groupWritten(batches: number, failed: number, seconds: number): void };
  http: ReturnType<typeof countRequests>["http"];
  grpc: ReturnType<typeof countRequests>["grpc"];
  /** A credential was refused. */
  authFailed: ReturnType<typeof countRequests>["authFailed"];
  /** Counts what the log tells from here on, until it is stopped. */
  follow(kernel: Kernel, known: Pick<WorkOptions, "tools" | "mcpServers">): () => void;
  /** What is served. */
  page(state: ServerState): { contentType: string; read(): Promise<string> };
}

/** What the process was not watched long enough for. The library spells it in a way that the format does not. */
const unmeasured = /^.* Nan\n/gm;

export function createMetrics({ logger, version }: { logger: Logger; version: string }): Metrics {
  const registry = new Registry();
  const server = describeServer(registry, version);
  const harmless: Harmless =
    (act) =>
    (...args) => {
      try {
        act(...args);
      } catch (error) {
        server.failures.inc();
        logger.debug({ event: "metrics.failed", err: error }, "A metric could not be counted");
      }
    };
  const stores = countStores(registry, harmless);
  const requests = countRequests(registry, harmless);
  return {
    store: stores.watch,
    http: requests.http,
    grpc: requests.grpc,
    authFailed: requests.authFailed,
    follow(kernel, known) {
      const { store, agents, clock, tail } = kernel;
      const work = new WorkMetrics(registry, { store, agents, now: () => clock.now(), ...known }, harmless);
      return tail.onCommit(harmless((events) => work.hear(events)));
    },
    page(state) {
      let isProcessWatched = false;
      let reading: Promise<string> | null = null;
      async function read(): Promise<string> {
        // Watching the process costs a little from then on, so it begins with the first who asks.
        if (!isProcessWatched) collectDefaultMetrics({ register: registry });
        isProcessWatched = true;
        server.refresh(state);
        requests.refresh(state.openWebSockets());
        await stores.refresh(state);
        return (await registry.metrics()).replaceAll(unmeasured, "");
      }
      return {
        contentType: registry.contentType,
        // However many ask at once, it is made once.
        read: () => {
          reading ??= read().finally(() => {
            reading = null;
          });
          return reading;
        },
      };
    },
  };
}
