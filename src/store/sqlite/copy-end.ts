/** A data directory as the source or the target of a copy. Its database is locked, as by a server. */

import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import {
  type CopiedTable,
  type CopySource,
  type CopyTarget,
  copiedTables,
  copyMarker,
  type Key,
} from "../copying.ts";
import { checkedRow, checksumOf, type Row } from "../log-rows.ts";
import type { Position, StoredEvent } from "../port.ts";
import { BlobFiles, blobFilesBeside } from "./blob-files.ts";
import { DocumentBodies } from "./document-body.ts";
import { lockDirectory } from "./lock.ts";
import { Reader } from "./reader.ts";
import { configure, migrate } from "./schema.ts";

/** The words that a document is searched for by; null for one that is not. */
export type TextOf = (kind: string, body: unknown) => string | null;

/** Larger content is in files. */
const inDatabaseBytesMax = 64 * 1024;
export class SqliteCopyEnd implements CopySource, CopyTarget, AsyncDisposable {
  readonly #file: string;
  readonly #db: DatabaseSync;
  readonly #reader: Reader;
  readonly #bodies: DocumentBodies;
  readonly #blobFiles: BlobFiles;
  readonly #lock: { release(): void };
  readonly #textOf: TextOf;

  private constructor(directory: string, blobFiles: BlobFiles, lock: { release(): void }, textOf: TextOf) {
    this.#file = join(directory, "bridle.db");
    this.#db = new DatabaseSync(this.#file);
    configure(this.#db);
    migrate(this.#db);
    this.#reader = new Reader(this.#file);
    this.#bodies = new DocumentBodies(this.#db);
    this.#blobFiles = blobFiles;
    this.#lock = lock;
    this.#textOf = textOf;
  }

  static async open(directory: string, textOf: TextOf): Promise<SqliteCopyEnd> {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const lock = lockDirectory(directory);
    try {
      closeSync(openSync(join(directory, "bridle.db"), "a", 0o600));
      const blobFiles = await BlobFiles.open(join(directory, "blobs"));
      return new SqliteCopyEnd(directory, blobFiles, lock, textOf);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  static isThere(directory: string): boolean {
    return existsSync(join(directory, "bridle.db"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reader.close();
    this.#db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    this.#db.close();
    this.#lock.release();
  }

  async head(): Promise<Position> {
    return this.#reader.head();
  }

  async events(after: Position, limit: number): Promise<StoredEvent[]> {
    return this.#reader.events(null, { after, limit });
  }

  async count(table: CopiedTable): Promise<number> {
    return Number(this.#db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? 0);
  }

  async page(table: CopiedTable, beyond: Key | null, limit: number): Promise<Row[]> {
    const { key, rest } = copiedTables[table];
    const columns = [...key, ...rest].join(", ");
    const where = beyond === null ? "" : `WHERE (${key.join(", ")}) > (${key.map(() => "?").join(", ")})`;
    const sql = `SELECT ${columns} FROM ${table} ${where} ORDER BY ${key.join(", ")} LIMIT ?`;
    const rows: Row[] = this.#db.prepare(sql).all(...(beyond ?? []), limit);
    if (table === "documents")
      return rows.map((row) => ({ ...row, body: JSON.stringify(this.#bodies.read(bodyOf(row))) }));
    // Rows from before schema 8 have no checksum.
    if (table === "log")
      return rows.map((row) => ({ ...row, checksum: checksumOf(checkedRow(row, this.#file)) }));
    return rows;
  }

  async contentHashes(): Promise<string[]> {
    const inside = this.#db.prepare("SELECT sha256 FROM blobs").all();
    const beside = blobFilesBeside(this.#file);
    return [...new Set([...inside, ...beside].map(({ sha256 }) => String(sha256)))].sort();
  }

  async *content(sha256: string): AsyncGenerator<Uint8Array> {
    const inside = this.#reader.blob(sha256);
    if (inside !== undefined) {
      yield inside;
      return;
    }
    const opened = await this.#blobFiles.open(sha256);
    if (opened === undefined) throw new Error(`The content ${sha256} is missing`);
    yield* await opened.read(0, opened.bytes);
  }

  async begin(head: Position): Promise<void> {
    const copied = this.#db.prepare("SELECT position FROM cursors WHERE name = ?").get(copyMarker)?.position;
    const isEmpty = (await this.count("log")) === 0 && (await this.count("documents")) === 0;
    if (copied === undefined && !isEmpty)
      throw new Error(`${this.#file} is not empty. Copy to another directory.`);
    if (copied !== undefined && Number(copied) !== head)
      throw new Error(
        `${this.#file} holds an unfinished copy of another log. Delete it, or copy to another directory.`,
      );
    this.#db.prepare("INSERT OR REPLACE INTO cursors (name, position) VALUES (?, ?)").run(copyMarker, head);
  }

  async lastKey(table: CopiedTable): Promise<Key | null> {
    // The marker is among the cursors.
    if (table === "cursors") return null;
    const { key } = copiedTables[table];
    const order = key.map((column) => `${column} DESC`).join(", ");
    const row = this.#db.prepare(`SELECT ${key.join(", ")} FROM ${table} ORDER BY ${order} LIMIT 1`).get();
    return row === undefined ? null : key.map((column) => keyValue(row[column]));
  }

  async write(table: CopiedTable, rows: readonly Row[]): Promise<void> {
    const { key, rest } = copiedTables[table];
    const columns = [...key, ...rest];
    const insert = this.#db.prepare(
      `INSERT OR REPLACE INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    );
    const insertText = this.#db.prepare("INSERT INTO texts (rowid, text) VALUES (?, ?)");
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      for (const row of rows) {
        insert.run(...columns.map((column) => inputOf(row[column])));
        if (table !== "documents") continue;
        const text = this.#textOf(String(row.kind), JSON.parse(String(row.body)));
        if (text !== null) insertText.run(Number(row.born), text);
      }
      this.#db.exec("COMMIT");
    } catch (error) {
      this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  async hasContent(sha256: string): Promise<boolean> {
    if (this.#db.prepare("SELECT 1 FROM blobs WHERE sha256 = ?").get(sha256) !== undefined) return true;
    const opened = await this.#blobFiles.open(sha256);
    await opened?.close();
    return opened !== undefined;
  }

  async addContent(sha256: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const staged = await this.#blobFiles.stage(chunks, Number.POSITIVE_INFINITY);
    if (staged.sha256 !== sha256) throw new Error(`The content ${sha256} does not match its hash`);
    await staged.keep();
    if (staged.bytes <= inDatabaseBytesMax) {
      const bytes = await this.#blobFiles.whole(sha256);
      this.#db
        .prepare("INSERT OR IGNORE INTO blobs (sha256, bytes) VALUES (?, ?)")
        .run(sha256, bytes ?? null);
      await staged.discard();
      await this.#blobFiles.remove([sha256]);
      return;
    }
    await staged.discard();
  }

  async finish(): Promise<void> {
    this.#db.prepare("DELETE FROM cursors WHERE name = ?").run(copyMarker);
  }
}

function bodyOf({ body = null, born = null }: Row) {
  return { body, born };
}

function keyValue(value: unknown): string | number {
  return typeof value === "string" ? value : Number(value);
}

function inputOf(value: Row[string] | undefined): SQLInputValue {
  return value instanceof Uint8Array ? Buffer.from(value) : (value ?? null);
}
