/** Brings the tables up to date. One process at a time does so; the others wait for it. */

import { type Client, escapeIdentifier } from "pg";
import type { Position } from "../port.ts";
import { rowsOf } from "./connect.ts";
import { migrations } from "./schema.ts";

/** "brmg", the first half of an advisory lock; the second one is the schema. */
const lockClass = 0x62726d67;

/** Positions in one partition of the log: some tens of gigabytes. */
const partitionPositions = 10_000_000;

/** Refuses a schema that a newer Bridle has written. Gives the numbers of the migrations that were run. */
export async function migrate(client: Client, schema: string): Promise<number[]> {
  await client.query("BEGIN");
  try {
    await client.query("SET LOCAL statement_timeout = 0");
    await client.query("SELECT pg_advisory_xact_lock($1, hashtext($2))", [lockClass, schema]);
    if (!(await isThere(client, schema))) {
      await client.query(`CREATE SCHEMA IF NOT EXISTS ${escapeIdentifier(schema)}`);
      await client.query("CREATE TABLE schema_version (version integer NOT NULL)");
      await client.query("INSERT INTO schema_version VALUES (0)");
    }
    const found = await knownSchema(client, schema);
    const run = migrations.slice(found);
    for (const migration of run) await client.query(migration);
    if (run.length > 0) await client.query("UPDATE schema_version SET version = $1", [migrations.length]);
    await client.query("COMMIT");
    return run.map((_, index) => found + index + 1);
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** The version of a schema that is there. */
export async function knownSchema(client: Client, schema: string): Promise<number> {
  const [row] = rowsOf(await client.query("SELECT version FROM schema_version"));
  const version = Number(row?.version ?? 0);
  if (version <= migrations.length) return version;
  throw new Error(
    `The schema ${schema} has version ${version}, this Bridle knows up to ${migrations.length}. Start the version of Bridle that wrote it, or a newer one.`,
  );
}

async function isThere(client: Client, schema: string): Promise<boolean> {
  const sql = "SELECT to_regclass(format('%I.schema_version', $1::text)) IS NOT NULL AS is_there";
  const [row] = (await client.query<{ is_there: boolean }>(sql, [schema])).rows;
  return row?.is_there === true;
}

/** Makes the partitions of the log that are missing for positions in a range. Gives the last position that there is room for. */
export async function makePartitions(
  client: Pick<Client, "query">,
  schema: string,
  { from, through }: { from: Position; through: Position },
): Promise<Position> {
  const [first, last] = [Math.floor(from / partitionPositions), Math.floor(through / partitionPositions)];
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1, hashtext($2))", [lockClass, schema]);
    for (let number = first; number <= last; number++) await makePartition(client, number);
    await client.query("COMMIT");
    return (last + 1) * partitionPositions - 1;
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** Attached rather than created in place: that does not lock out those who read the log. */
async function makePartition(client: Pick<Client, "query">, number: number): Promise<void> {
  const table = `log_${number}`;
  const [row] = (
    await client.query<{ is_there: boolean }>("SELECT to_regclass($1) IS NOT NULL AS is_there", [table])
  ).rows;
  if (row?.is_there === true) return;
  const [from, to] = [number * partitionPositions, (number + 1) * partitionPositions];
  await client.query(`CREATE TABLE ${table} (LIKE log INCLUDING ALL)`);
  // Read through the log only, where the policies are.
  await client.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
  await client.query(`ALTER TABLE ${table} FORCE ROW LEVEL SECURITY`);
  await client.query(`ALTER TABLE log ATTACH PARTITION ${table} FOR VALUES FROM (${from}) TO (${to})`);
}
