/**
 * The SQLite store over a database in memory, written by the thread that reads it: for tests of agents. The database outlives the store
 * that is opened on it, as a directory outlives a process.
 */

import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import type { BatchResult, BatchRows, Dropped } from "../batch-rows.ts";
import { type Position, type StoredEvent, StoreUnavailable } from "../port.ts";
import type { WholeStore } from "../whole-store.ts";
import { DatabaseWriter, messageOf } from "./database-writer.ts";
import { WriterFenced } from "./epoch.ts";
import { HeldBlobs } from "./held-blobs.ts";
import { Reader } from "./reader.ts";
import { configure, migrate } from "./schema.ts";
import { type SqliteWriter, sqliteStore, type WriterStopped } from "./store.ts";

export class MemoryDatabase {
  /** Every connection of this process to this name sees the same database. */
  readonly file = `file:/${randomUUID()}?vfs=memdb`;
  readonly blobs = new HeldBlobs();
  /** The database is there for as long as a connection to it is open: this one. */
  readonly #reader: Reader;

  constructor() {
    const db = new DatabaseSync(this.file);
    configure(db);
    migrate(db);
    this.#reader = new Reader(this.file);
    db.close();
  }

  /** What is in the log now. */
  events(after: Position = 0): StoredEvent[] {
    return this.#reader.events(null, { after, limit: Number.MAX_SAFE_INTEGER });
  }
}

/** Stores that are opened one after the other on the same database go on where the one before was. */
export function openMemoryStore(database = new MemoryDatabase()): WholeStore {
  const { file, blobs } = database;
  return sqliteStore({
    reader: new Reader(file),
    openWriter: (onStopped) => new LocalWriter(file, onStopped),
    blobs,
    watch: {},
    shortage: () => null,
    release() {},
  });
}

/** Writes on the thread that asks for it. */
class LocalWriter implements SqliteWriter {
  readonly #writer: DatabaseWriter;
  readonly #onStopped: WriterStopped;

  constructor(file: string, onStopped: WriterStopped) {
    this.#writer = new DatabaseWriter(file, null);
    this.#onStopped = onStopped;
  }

  async write(batches: BatchRows[]): Promise<BatchResult[]> {
    return this.#attempt(() => this.#writer.commit(batches));
  }

  async probe(): Promise<string | null> {
    return this.#attempt(() => this.#writer.probe());
  }

  async forgetOnce(before: number): Promise<number> {
    return this.#attempt(() => this.#writer.forgetOnce(before));
  }

  async dropBlobs(sha256s: string[], scannedThrough: Position): Promise<Dropped> {
    return this.#attempt(() => this.#writer.dropBlobs(sha256s, scannedThrough));
  }

  async scrub(): Promise<void> {
    this.#attempt(() => this.#writer.scrub());
  }

  async close(): Promise<void> {
    this.#writer.close();
  }

  #attempt<Result>(act: () => Result): Result {
    try {
      return act();
    } catch (error) {
      if (error instanceof WriterFenced) this.#onStopped(error.message);
      throw new StoreUnavailable(messageOf(error), { cause: error });
    }
  }
}
