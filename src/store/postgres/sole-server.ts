/**
 * One server at a time on a database: what a server holds in memory is only right while nobody else writes. The connection that commits
 * holds an advisory lock; when it is lost, PostgreSQL releases the lock, and whoever takes it next counts up the epoch. A server whose
 * epoch is not the current one any more is refused by its own transactions.
 */

import type { Client } from "pg";
import { rowsOf } from "./connect.ts";
import { DatabaseUnusable } from "./database-unusable.ts";
import { statement } from "./statements.ts";
import { DatabaseHeld, WriterFenced } from "./write-connection.ts";

/** "brsv", the first half of the lock; the second is the schema. */
const lockClass = 0x62727376;
/** A server that is being replaced may need a moment to end. */
const waitMs = 3000;
const lookEveryMs = 100;

const tryLock = (schema: string) =>
  statement("SELECT pg_try_advisory_lock($1::int, hashtext($2)) AS is_held", lockClass, schema);
const countEpoch = statement("UPDATE head SET epoch = epoch + 1 RETURNING epoch");
const readEpoch = statement("SELECT epoch FROM head");

export class SoleServer {
  readonly #schema: string;
  #epoch: number | null = null;

  constructor(schema: string) {
    this.#schema = schema;
  }

  get epoch(): number | null {
    return this.#epoch;
  }

  /** Prepares a connection to commit. Throws `DatabaseUnusable` at first, later `DatabaseHeld` or `WriterFenced`. */
  async hold(client: Client): Promise<void> {
    const isFirst = this.#epoch === null;
    const giveUpAt = performance.now() + (isFirst ? waitMs : 0);
    while (!(await isLocked(client, this.#schema))) {
      if (performance.now() >= giveUpAt) throw isFirst ? inUse(this.#schema) : new DatabaseHeld();
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
    const [row] = rowsOf(await client.query(isFirst ? countEpoch : readEpoch));
    const epoch = Number(row?.epoch);
    if (!isFirst && epoch !== this.#epoch)
      throw new WriterFenced("another server has taken over this database");
    this.#epoch = epoch;
  }
}

async function isLocked(client: Client, schema: string): Promise<boolean> {
  const { rows } = await client.query<{ is_held: boolean }>(tryLock(schema));
  return rows[0]?.is_held === true;
}

function inUse(schema: string): DatabaseUnusable {
  return new DatabaseUnusable(
    `Another server uses this database (schema ${schema}). One server at a time can; stop the other one, or use another database.`,
  );
}
