/** How a database is set up, as far as Bridle's promises rest on it. Changes nothing. */

import type { Client } from "pg";
import { connect, type DatabasePlace } from "./connect.ts";
import { assertUsable, openProblem } from "./open-problems.ts";

export interface DatabaseExamination {
  version: string;
  bytes: number;
  /** What a promise of Bridle would break on, and what to do about it. */
  weaknesses: { message: string; advice: string }[];
}

interface Settings {
  version: string;
  bytes: number;
  fsync: string;
  full_page_writes: string;
  synchronous_commit: string;
  passes_policies: boolean;
  /** The time of the database, in milliseconds since 1970. */
  now: number;
}

const settingsSql = `SELECT current_setting('server_version') AS version,
    pg_database_size(current_database()) AS bytes,
    current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit,
    (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) AS passes_policies,
    (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`;

const skewMsMax = 1000;

/** Throws `DatabaseUnusable` when no server could work on it. */
export async function examineDatabase(
  place: DatabasePlace,
  connectionsNeeded: number,
): Promise<DatabaseExamination> {
  let client: Client | null = null;
  try {
    client = await connect(place);
    await assertUsable(client, place, connectionsNeeded);
    const askedAt = Date.now();
    const { rows } = await client.query<Settings>(settingsSql);
    const [settings] = rows;
    if (settings === undefined) throw new Error("PostgreSQL says nothing about its settings");
    const skewMs = Math.abs(settings.now - (askedAt + Date.now()) / 2);
    const { version, bytes } = settings;
    return { version, bytes: Number(bytes), weaknesses: [...weaknessesOf(settings, skewMs)] };
  } catch (error) {
    throw openProblem(error, place);
  } finally {
    await client?.end();
  }
}

function* weaknessesOf(settings: Settings, skewMs: number): Generator<{ message: string; advice: string }> {
  const { fsync, full_page_writes: pages, synchronous_commit: commit } = settings;
  if (fsync === "off" || pages === "off")
    yield {
      message: `${fsync === "off" ? "fsync" : "full_page_writes"} is off: a crash can damage the database`,
      advice: "Turn it on.",
    };
  if (commit === "off")
    yield {
      message: "synchronous_commit is off: Bridle turns it on for its own commits",
      advice: "Turn it on for the role of Bridle.",
    };
  if (settings.passes_policies)
    yield {
      message: "the role passes row-level security, so only Bridle itself keeps tenants apart",
      advice: "Use a role that is neither superuser nor BYPASSRLS.",
    };
  if (skewMs > skewMsMax)
    yield {
      message: `the clocks of the database and of this machine differ by ${Math.round(skewMs)} ms`,
      advice: "Synchronize both with NTP.",
    };
}
