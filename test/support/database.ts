/**
 * Servers of tests on PostgreSQL: a file that turns this on runs its servers on databases of their own, one for each data directory.
 * What it takes is loaded by such files only.
 */

import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { WholeStore } from "../../src/store/whole-store.ts";

let isOn = false;
const databases = new Map<string, Promise<string>>();

/** For all servers that are started from here on in this process. */
export function serveFromPostgres(): void {
  isOn = true;
}

/** What a server of this data directory is told beside its settings. */
export async function databaseEnvironment(directory: string): Promise<{ BRIDLE_DATABASE_URL?: string }> {
  if (!isOn) return {};
  let database = databases.get(directory);
  if (database === undefined) {
    database = newDatabase();
    databases.set(directory, database);
  }
  return { BRIDLE_DATABASE_URL: await database };
}

async function newDatabase(): Promise<string> {
  const { sharedPostgres } = await import("./postgres.ts");
  return await (await sharedPostgres()).newDatabase();
}

/** The log of a server of this data directory, while the server is stopped. */
export async function openStoreOf(directory: string): Promise<WholeStore> {
  const { BRIDLE_DATABASE_URL: url } = await databaseEnvironment(directory);
  if (url === undefined) return await openSqliteStore(directory);
  const { openPostgresStore } = await import("../../src/store/postgres/open.ts");
  return await openPostgresStore({ url, schema: "bridle", isSole: true });
}
