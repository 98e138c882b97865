/** The two stores of a server: its log, and what its gateway keeps. In the data directory, or in PostgreSQL. */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import type { CommitWatch } from "../store/commit-queue.ts";
import type { DiskFloor } from "../store/sqlite/free-space.ts";
import { lockDirectory } from "../store/sqlite/lock.ts";
import { openSqliteStore } from "../store/sqlite/open.ts";
import type { WholeStore } from "../store/whole-store.ts";

export interface StoresConfig {
  dataDirectory: string;
  /** The URL of a PostgreSQL database; null keeps everything in the data directory. */
  databaseUrl: string | null;
  diskFloor: DiskFloor;
  logger: Logger;
}

export interface Stores {
  log: WholeStore;
  gateway: WholeStore;
}

/** Connections of a server: for reading, for committing, for its start. */
const readersMax = { log: 8, gateway: 2 };
export const connectionsNeeded = readersMax.log + readersMax.gateway + 4;

export const schemas = { log: "bridle", gateway: "bridle_gateway" } as const;

export type WatchOf = (store: keyof Stores) => CommitWatch;

/** In the order in which they are opened; the stack closes them in reverse. */
export async function openStores(
  config: StoresConfig,
  watch: WatchOf,
  built: AsyncDisposableStack,
): Promise<Stores> {
  const open = await openerOf(config, built);
  const log = await open("log", watch("log"));
  built.defer(() => log.close());
  const gateway = await open("gateway", watch("gateway"));
  built.defer(() => gateway.close());
  return { log, gateway };
}

type Opener = (store: keyof Stores, watch: CommitWatch) => Promise<WholeStore>;

async function openerOf(config: StoresConfig, built: AsyncDisposableStack): Promise<Opener> {
  const { dataDirectory, databaseUrl: url, diskFloor, logger } = config;
  const directories = { log: dataDirectory, gateway: join(dataDirectory, "gateway") };
  if (url === null)
    return (store, watch) =>
      openSqliteStore(directories[store], watch, ...(store === "log" ? [diskFloor] : []));
  // The keys and the files of workspaces are there all the same.
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const lock = lockDirectory(dataDirectory);
  built.defer(() => lock.release());
  const unused = join(dataDirectory, "bridle.db");
  if (existsSync(unused))
    logger.warn({ event: "store.unused", file: unused }, `${unused} is not used: BRIDLE_DATABASE_URL is set`);
  // What speaks to PostgreSQL is loaded by those only who need it.
  const { openPostgresStore } = await import("../store/postgres/open.ts");
  return (store, watch) =>
    openPostgresStore(
      {
        ...{ url, schema: schemas[store], isSole: true },
        ...{ readersMax: readersMax[store], connectionsNeeded },
      },
      watch,
    );
}
