/** A database as the source or the target of a copy. It is locked, as by a server. */

import type { Client } from "pg";
import {
  type CopiedTable,
  type CopySource,
  type CopyTarget,
  copiedTables,
  copyMarker,
  type Key,
} from "../copying.ts";
import type { Row } from "../log-rows.ts";
import type { Position, StoredEvent } from "../port.ts";
import { connect, type DatabasePlace, rowsOf } from "./connect.ts";
import { Contents } from "./contents.ts";
import { makePartitions, migrate } from "./migrate.ts";
import { assertUsable, openProblem, placeInWords } from "./open-problems.ts";
import { ReadPool } from "./read-pool.ts";
import { Reader } from "./reader.ts";
import { SoleServer } from "./sole-server.ts";
import { insertRows, insertTexts } from "./write-statements.ts";

export type TextOf = (kind: string, body: unknown) => string | null;

const bigints = new Set([
  ...["last", "first", "checksum", "version", "sequence", "last_event", "born", "wake_at", "rank"],
  ...["position", "expires_at", "bytes"],
]);

export class PostgresCopyEnd implements CopySource, CopyTarget, AsyncDisposable {
  readonly #place: DatabasePlace;
  readonly #client: Client;
  readonly #pool: ReadPool;
  readonly #reader: Reader;
  readonly #contents: Contents;
  readonly #textOf: TextOf;

  private constructor(place: DatabasePlace, client: Client, textOf: TextOf) {
    this.#place = place;
    this.#client = client;
    this.#pool = new ReadPool(place, 2, () => {});
    this.#reader = new Reader(this.#pool);
    this.#contents = new Contents(this.#pool);
    this.#textOf = textOf;
  }

  /** Throws `DatabaseUnusable`. */
  static async open(place: DatabasePlace, textOf: TextOf): Promise<PostgresCopyEnd> {
    let client: Client | null = null;
    try {
      client = await connect(place);
      await assertUsable(client, place, 3);
      await migrate(client, place.schema);
      await new SoleServer(place.schema).hold(client);
      return new PostgresCopyEnd(place, client, textOf);
    } catch (error) {
      await client?.end();
      throw openProblem(error, place);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.close();
    await this.#client.end();
  }

  head(): Promise<Position> {
    return this.#reader.head();
  }

  events(after: Position, limit: number): Promise<StoredEvent[]> {
    return this.#reader.events(null, { after, limit });
  }

  async count(table: CopiedTable): Promise<number> {
    const [row] = await this.#rows(`SELECT count(*) AS n FROM ${table}`);
    return Number(row?.n ?? 0);
  }

  async page(table: CopiedTable, beyond: Key | null, limit: number): Promise<Row[]> {
    const { key, rest } = copiedTables[table];
    const places = key.map((column, n) => `$${n + 2}::${bigints.has(column) ? "bigint" : "text"}`);
    const where = beyond === null ? "" : `WHERE (${key.join(", ")}) > (${places.join(", ")})`;
    const sql = `SELECT ${[...key, ...rest].join(", ")} FROM ${table} ${where} ORDER BY ${key.join(", ")} LIMIT $1`;
    return await this.#rows(sql, [limit, ...(beyond ?? [])]);
  }

  async contentHashes(): Promise<string[]> {
    return (await this.#rows("SELECT sha256 FROM blobs ORDER BY sha256")).map(({ sha256 }) => String(sha256));
  }

  content(sha256: string): AsyncIterable<Uint8Array> {
    return this.#contents.ofAnybody(sha256);
  }

  async begin(head: Position): Promise<void> {
    const [copied] = await this.#rows("SELECT position FROM cursors WHERE name = $1", [copyMarker]);
    const isEmpty = (await this.count("log")) === 0 && (await this.count("documents")) === 0;
    const where = `The schema ${this.#place.schema} at ${placeInWords(this.#place)}`;
    if (copied === undefined && !isEmpty) throw new Error(`${where} is not empty. Copy to another database.`);
    if (copied !== undefined && Number(copied.position) !== head)
      throw new Error(
        `${where} holds an unfinished copy of another log. Drop it, or copy to another database.`,
      );
    await this.#rows("INSERT INTO cursors (name, position) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", [
      copyMarker,
      head,
    ]);
    await makePartitions(this.#client, this.#place.schema, { from: 0, through: head });
  }

  async lastKey(table: CopiedTable): Promise<Key | null> {
    // The marker is among the cursors.
    if (table === "cursors") return null;
    const { key } = copiedTables[table];
    const order = key.map((column) => `${column} DESC`).join(", ");
    const [row] = await this.#rows(`SELECT ${key.join(", ")} FROM ${table} ORDER BY ${order} LIMIT 1`);
    if (row === undefined) return null;
    return key.map((column) => (bigints.has(column) ? Number(row[column]) : String(row[column])));
  }

  async write(table: CopiedTable, rows: readonly Row[]): Promise<void> {
    const { key, rest } = copiedTables[table];
    const names = [...key, ...rest];
    const columns = names.map((name) => [name, bigints.has(name) ? "bigint" : "text"] as const);
    const values = rows.map((row) => names.map((name) => row[name] ?? null));
    const insert = insertRows(table, columns, values, { orLeave: true });
    const texts = table === "documents" ? insertTexts(this.#texts(rows)) : null;
    const sent = [this.#client.query("BEGIN"), this.#client.query(insert)];
    if (texts !== null) sent.push(this.#client.query(texts));
    await Promise.all([...sent, this.#client.query("COMMIT")]);
  }

  *#texts(rows: readonly Row[]) {
    for (const { id, tenant_id, kind, body } of rows) {
      const text = this.#textOf(String(kind), JSON.parse(String(body)));
      if (text !== null) yield { id: String(id), tenantId: String(tenant_id), kind: String(kind), text };
    }
  }

  async hasContent(sha256: string): Promise<boolean> {
    return (await this.#rows("SELECT 1 AS is_there FROM blobs WHERE sha256 = $1", [sha256])).length > 0;
  }

  async addContent(sha256: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const staged = await this.#contents.stage(chunks, Number.POSITIVE_INFINITY);
    if (staged.sha256 !== sha256) throw new Error(`The content ${sha256} does not match its hash`);
    await staged.keep();
    await staged.discard();
  }

  async finish(head: Position): Promise<void> {
    // No event gets a position that somebody who follows the log has passed.
    const last = "greatest($1::bigint, (SELECT max(position) FROM cursors))";
    await this.#rows(`UPDATE head SET position = ${last}`, [head]);
    await this.#rows("DELETE FROM cursors WHERE name = $1", [copyMarker]);
  }

  async #rows(sql: string, values: unknown[] = []): Promise<Row[]> {
    return rowsOf(await this.#client.query(sql, values));
  }
}
