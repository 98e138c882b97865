/** How connections to PostgreSQL are made, and what their errors mean. */

import { Client, type ClientConfig, Pool, type PoolConfig, types } from "pg";
import type { Row } from "../log-rows.ts";

export interface DatabasePlace {
  url: string;
  /** The schema that holds the tables; one server has one for its log and one for its gateway. */
  schema: string;
}

/** A statement and its values. The name makes the server keep its plan; there are as many names as there are statements here. */
export interface Statement {
  name: string;
  text: string;
  values: unknown[];
}

/** No statement takes so long unless something is wrong. */
const statementMsMax = 30_000;
/** A process that stops between the statements of a transaction must not hold its locks. */
const idleInTransactionMsMax = 2000;
const connectMsMax = 5000;

const int8 = 20;

/** Positions and versions stay far below 2^53. */
const typeParsers: NonNullable<ClientConfig["types"]> = {
  getTypeParser(oid: number, format?: "text" | "binary") {
    if (oid === int8 && format !== "binary") return Number;
    return types.getTypeParser(oid, format as "text");
  },
};

/** Every tenant's rows; otherwise a connection sees those of the tenant that it names. */
export const allTenants = "*";

function configOf({ url, schema }: DatabasePlace, tenant: string): ClientConfig {
  const settings = {
    search_path: schema,
    "bridle.tenant": tenant,
    // A peer that is gone without a word is noticed, by the server too: it holds locks for it.
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 3,
  };
  return {
    connectionString: url,
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(" "),
    types: typeParsers,
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
    statement_timeout: statementMsMax,
    idle_in_transaction_session_timeout: idleInTransactionMsMax,
    connectionTimeoutMillis: connectMsMax,
    fallback_application_name: "bridle",
  };
}

/** A connection that sees all tenants. */
export async function connect(place: DatabasePlace): Promise<Client> {
  const client = new Client(configOf(place, allTenants));
  // What happens to a connection shows in the next query.
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** Connections that see nothing until they name a tenant. */
export function poolOf(place: DatabasePlace, max: number): Pool {
  const config: PoolConfig = {
    ...configOf(place, ""),
    max,
    idleTimeoutMillis: 60_000,
    allowExitOnIdle: true,
  };
  const pool = new Pool(config);
  pool.on("error", () => {});
  // The pool listens to those that nobody uses only.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

export function rowsOf({ rows }: { rows: Row[] }): Row[] {
  return rows;
}

/** Something that is not up to the batch or the query: the connection, or the state of the server. */
const faultsByCode: readonly (readonly [code: RegExp, fault: string])[] = [
  [/^(08|57P0[1-5]|25P03)/, "database unreachable"],
  [/^53100$/, "database disk full"],
  [/^53/, "database overloaded"],
  [/^25006$/, "database is read-only"],
  [/^(28|42501$|3D000$)/, "database refuses access"],
  [/^(57014|55P03)$/, "database too slow"],
  [/^58/, "database I/O error"],
  [/^XX00[12]$/, "database damaged"],
];

const away = "database unreachable";

/** Whether a fault is that the server is not to be reached, for reading either. */
export function isAway(fault: string | null): boolean {
  return fault === away;
}

/** The SQLSTATE of an error of the server. */
export function sqlStateOf(error: unknown): string | null {
  if (!(error instanceof Error && "severity" in error && "code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}

/** What is wrong with the database, in words that a client may read; null if only the statement is at fault. */
export function databaseFaultOf(error: unknown): string | null {
  const state = sqlStateOf(error);
  if (state === null) return isOfDriver(error) ? away : null;
  return faultsByCode.find(([code]) => code.test(state))?.[1] ?? null;
}

/** The connection is gone, or was never there. Whether the statement was executed is not known. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === null ? isOfDriver(error) : /^(08|57P0[1-5]|25P03)/.test(state);
}

/** Transactions that stood in each other's way; another attempt helps. */
export function isRetryable(error: unknown): boolean {
  return /^40/.test(sqlStateOf(error) ?? "");
}

const driverErrors =
  /^(Connection terminated|Client (has encountered|was closed)|timeout e|Query read timeout|Cannot use a pool|The server does not support SSL)/;

function isOfDriver(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isOfDriver);
  const isOfSystem = "code" in error && typeof error.code === "string" && /^E[A-Z_]+$/.test(error.code);
  return isOfSystem || driverErrors.test(error.message);
}
