/**
 * The connection that writes, and its transactions. After an I/O error in a COMMIT nobody knows what is on disk: SQLite has taken the
 * transaction back, but its frames may be in the WAL, and a crash would bring them to life. So the database is closed and opened
 * again, and a small transaction is written over what may be left. Only then is it certain whether the failed one is there.
 */

import { DatabaseSync } from "node:sqlite";
import { failPoint } from "../fail-point.ts";
import type { Position } from "../port.ts";
import { EpochGuard, takeEpoch, WriterFenced } from "./epoch.ts";
import { LogRewriter } from "./rewrite.ts";
import { configure } from "./schema.ts";
import { BatchWriter } from "./write-batch.ts";
import { writeFaultOf } from "./write-fault.ts";

export interface Connection {
  readonly db: DatabaseSync;
  readonly batches: BatchWriter;
  readonly rewriter: LogRewriter;
}

/** The COMMIT of a transaction failed, and it is not known yet whether the transaction is on disk. */
export class CommitUncertain extends Error {
  override name = "CommitUncertain";
  /** What is wrong with the disk. */
  readonly fault: string;

  constructor(cause: unknown, file: string) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.fault = writeFaultOf(cause, file) ?? "I/O error";
  }
}

/** Passes the fail points of a transaction. */
type Visit = typeof failPoint;

/** SQLITE_BUSY and SQLITE_FULL: the transaction was not committed, for certain. */
const uncommitted = new Set([5, 13]);

export class WriteConnection {
  readonly #file: string;
  #epoch: number | null;
  #open: (Connection & { guard: EpochGuard }) | null = null;
  /** The end of the log before the transaction whose outcome is not known. */
  #certainThrough: Position | null = null;

  constructor(file: string, epoch: number | null) {
    this.#file = file;
    this.#epoch = epoch;
  }

  /** All of it is on disk when this returns. Throws `CommitUncertain` if it may be there all the same. */
  transaction<Result>(write: (connection: Connection) => Result, visit: Visit = () => {}): Result {
    const connection = this.#connect();
    const { db, batches, guard } = connection;
    const before = batches.position;
    try {
      visit("commit.begun");
      db.exec("BEGIN IMMEDIATE");
      guard.assertOwn();
      const result = write(connection);
      visit("commit.written");
      this.#commit(db, before, visit);
      return result;
    } catch (error) {
      if (!(error instanceof CommitUncertain)) this.#rollBack(connection);
      throw error;
    }
  }

  /** Runs what cannot be part of a transaction. */
  outside<Result>(act: (db: DatabaseSync) => Result): Result {
    const { db, guard } = this.#connect();
    guard.assertOwn();
    return act(db);
  }

  /**
   * Opens the database again after an uncertain commit and looks for what was to be committed. What is found is on disk then, and
   * what is not found never will be.
   */
  recheck(find: (connection: Connection) => boolean | null): boolean | null {
    const connection = this.#connect(false);
    try {
      const isThere = find(connection);
      if (isThere === true) copyToDatabase(connection.db);
      this.#certainThrough = null;
      return isThere;
    } catch (error) {
      this.#discard();
      throw error;
    }
  }

  close(): void {
    this.#open?.db.close();
    this.#open = null;
  }

  #connect(mustBeKnown = true): Connection & { guard: EpochGuard } {
    if (this.#open !== null) return this.#open;
    // The search index gives rows of its own ids above 2^53, which `run` would report and could not as a number.
    const db = new DatabaseSync(this.#file, { readBigInts: true });
    try {
      failPoint("database.opened");
      configure(db);
      // What this writes comes over the frames that a failed commit may have left.
      if (this.#epoch === null || this.#certainThrough !== null) this.#epoch = takeEpoch(db, this.#epoch);
      const batches = new BatchWriter(db);
      if (mustBeKnown) this.#assertKnown(batches.position);
      const guard = new EpochGuard(db, this.#epoch);
      let rewriter: LogRewriter | null = null;
      this.#open = {
        db,
        batches,
        guard,
        // Most processes rewrite nothing, and its statements take a moment to prepare.
        get rewriter() {
          rewriter ??= new LogRewriter(db);
          return rewriter;
        },
      };
      return this.#open;
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /** Events that nobody in this process was told of would be missed by all who follow the log. */
  #assertKnown(position: Position): void {
    if (this.#certainThrough === null) return;
    if (position !== this.#certainThrough) {
      throw new WriterFenced("a commit whose outcome was unknown is in the log; a restart takes it up");
    }
    this.#certainThrough = null;
  }

  #commit(db: DatabaseSync, before: Position, visit: Visit): void {
    try {
      visit("commit.syncing");
      db.exec("COMMIT");
      visit("commit.durable");
    } catch (error) {
      if (isUncommitted(error)) throw error;
      this.#certainThrough = before;
      this.#discard();
      throw new CommitUncertain(error, this.#file);
    }
  }

  #rollBack({ db, batches }: Connection): void {
    try {
      if (db.isTransaction) db.exec("ROLLBACK");
      batches.forget();
    } catch {
      // The next transaction begins with a new connection.
      this.#discard();
    }
  }

  #discard(): void {
    try {
      this.close();
    } catch {
      this.#open = null;
    }
  }
}

/** After an fsync that failed, the system may take pages of the WAL for written that are not. So they are written elsewhere. */
function copyToDatabase(db: DatabaseSync): void {
  const row = db.prepare("PRAGMA wal_checkpoint(FULL)").get();
  if (Number(row?.busy) !== 0) throw new Error("The write-ahead log cannot be copied to the database now");
}

function isUncommitted(error: unknown): boolean {
  if (!(error instanceof Error && "errcode" in error && typeof error.errcode === "number")) return false;
  return uncommitted.has(error.errcode & 0xff);
}
