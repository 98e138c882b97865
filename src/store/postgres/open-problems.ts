/** Why a database cannot be used, in one sentence without the password: where it is, what is wrong, what to do. */

import type { Client } from "pg";
import { type DatabasePlace, sqlStateOf } from "./connect.ts";
import { DatabaseUnusable } from "./database-unusable.ts";

const versionMin = 15;

/** Where a database is, without who asks and how they prove it. */
export function placeInWords({ url }: Pick<DatabasePlace, "url">): string {
  try {
    const { hostname, port, pathname } = new URL(url);
    return `${hostname || "localhost"}:${port || "5432"}${pathname}`;
  } catch {
    return "the database";
  }
}

const bySqlState: Readonly<Record<string, string>> = {
  "28P01": "refuses the password. Correct it in BRIDLE_DATABASE_URL.",
  "28000": "refuses the user. Correct BRIDLE_DATABASE_URL, or let the user in with pg_hba.conf.",
  "3D000": "has no such database. Create it with createdb, or correct BRIDLE_DATABASE_URL.",
  "42501": "lacks rights. Make its role the owner of the database or of the schema.",
  "25006": "is read-only. Use the primary server.",
  "53300": "has no connection left. Raise max_connections, or end others.",
  "57P03": "is starting up or shutting down. Try again.",
};

/** The error to show for one of opening a database. What has a sentence of its own stays. */
export function openProblem(error: unknown, place: DatabasePlace): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseUnusable) return error;
  const where = placeInWords(place);
  const state = sqlStateOf(error);
  const sentence = state === null ? undefined : bySqlState[state];
  if (state !== null) {
    if (sentence !== undefined)
      return new DatabaseUnusable(`PostgreSQL at ${where} ${sentence} (${error.message})`, { cause: error });
    return error;
  }
  const code = codeOf(error);
  if (
    code === null &&
    !/^(Connection terminated|timeout|The server does not support SSL)/.test(error.message)
  )
    return error;
  const why = code ?? error.message;
  return new DatabaseUnusable(
    `Cannot connect to PostgreSQL at ${where} (${why}). Start it, or correct BRIDLE_DATABASE_URL.`,
    { cause: error },
  );
}

/** The code of the operating system or of TLS. */
function codeOf(error: Error): string | null {
  if (error instanceof AggregateError) {
    const [first] = error.errors;
    return first instanceof Error ? codeOf(first) : null;
  }
  return "code" in error && typeof error.code === "string" ? error.code : null;
}

interface Facts {
  version: number;
  isStandby: boolean;
  isReadOnly: boolean;
  encoding: string;
  connectionsMax: number;
}

const factsSql = `SELECT current_setting('server_version_num')::int / 10000 AS version,
    pg_is_in_recovery() AS is_standby,
    current_setting('transaction_read_only') = 'on' AS is_read_only,
    current_setting('server_encoding') AS encoding,
    least(
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
      (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
      (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
    ) AS connections_max`;

async function factsOf(client: Client): Promise<Facts> {
  const { rows } = await client.query<{
    version: number;
    is_standby: boolean;
    is_read_only: boolean;
    encoding: string;
    connections_max: number;
  }>(factsSql);
  const [row] = rows;
  if (row === undefined) throw new DatabaseUnusable("PostgreSQL says nothing about itself.");
  return {
    version: row.version,
    isStandby: row.is_standby,
    isReadOnly: row.is_read_only,
    encoding: row.encoding,
    connectionsMax: row.connections_max,
  };
}

/** Throws `DatabaseUnusable`. */
export async function assertUsable(
  client: Client,
  place: DatabasePlace,
  connectionsNeeded: number,
): Promise<void> {
  const facts = await factsOf(client);
  const problem = problemOf(facts, connectionsNeeded) ?? (await missingRight(client, place));
  if (problem !== null) throw new DatabaseUnusable(`PostgreSQL at ${placeInWords(place)} ${problem}`);
}

function problemOf(
  { version, isStandby, isReadOnly, encoding, connectionsMax }: Facts,
  connectionsNeeded: number,
): string | null {
  if (version < versionMin) return `is version ${version}. Bridle needs version ${versionMin} or later.`;
  if (isStandby) return "is a standby, which is read-only. Use the primary server.";
  if (isReadOnly) return "is read-only (default_transaction_read_only). Let the role of Bridle write.";
  if (encoding !== "UTF8") return `has the encoding ${encoding}. Create a database with the encoding UTF8.`;
  if (connectionsMax < connectionsNeeded)
    return `allows ${connectionsMax} connections, Bridle needs ${connectionsNeeded}. Raise max_connections or the limit of the role or database.`;
  return null;
}

async function missingRight(client: Client, { schema }: DatabasePlace): Promise<string | null> {
  const sql = `SELECT CASE WHEN to_regnamespace(quote_ident($1)) IS NULL
      THEN has_database_privilege(current_database(), 'CREATE')
      ELSE has_schema_privilege($1, 'CREATE') AND has_schema_privilege($1, 'USAGE') END AS may_create,
    current_user AS role`;
  const { rows } = await client.query<{ may_create: boolean; role: string }>(sql, [schema]);
  if (rows[0]?.may_create === true) return null;
  return `does not let the role ${rows[0]?.role} create tables in the schema ${schema}. Make it the owner of the database or of the schema.`;
}
