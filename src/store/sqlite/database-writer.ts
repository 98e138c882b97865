/** What the connection that writes is asked to do: commits, and the upkeep of the file. Used by one thread at a time. */

import type { BatchResult, BatchRows, Dropped } from "../batch-rows.ts";
import { failPoint } from "../fail-point.ts";
import type { Position } from "../port.ts";
import { BatchCommitter } from "./commit-batches.ts";
import { WriterFenced } from "./epoch.ts";
import { CommitUncertain, WriteConnection } from "./write-connection.ts";
import { writeFaultOf } from "./write-fault.ts";

export class DatabaseWriter {
  readonly #file: string;
  readonly #connection: WriteConnection;
  readonly #committer: BatchCommitter;

  /** Takes an epoch of its own with the first write if it is given none. */
  constructor(file: string, epoch: number | null) {
    this.#file = file;
    this.#connection = new WriteConnection(file, epoch);
    this.#committer = new BatchCommitter(this.#connection, file);
  }

  commit(batches: readonly BatchRows[]): BatchResult[] {
    return this.#committer.commit(batches);
  }

  /** Writes a page, with what it says already, and waits until it is on disk. Returns what is wrong. */
  probe(): string | null {
    try {
      this.#connection.transaction(({ db }) => db.exec("UPDATE writer SET epoch = epoch"), failPoint);
      return null;
    } catch (error) {
      if (error instanceof WriterFenced) throw error;
      const fault = error instanceof CommitUncertain ? error.fault : writeFaultOf(error, this.#file);
      return fault ?? messageOf(error);
    }
  }

  /** Returns the number of idempotency records that expired. */
  forgetOnce(before: number): number {
    return this.#connection.transaction(({ db }) => {
      const { changes } = db.prepare("DELETE FROM once WHERE expires_at < ?").run(before);
      return Number(changes);
    });
  }

  dropBlobs(sha256s: string[], scannedThrough: Position): Dropped {
    const dropped = this.#connection.transaction(({ rewriter }) =>
      rewriter.dropBlobs(sha256s, scannedThrough),
    );
    failPoint("blobs.dropped");
    return dropped;
  }

  /**
   * Old bytes stay in free pages, in the gaps of pages that were rearranged (`secure_delete` misses those), in the WAL, and the
   * words of deleted documents in their index until its parts are merged. So the index is merged, the whole file is written
   * anew, the copy on the way in a file rather than in memory, and the WAL is emptied.
   */
  scrub(): void {
    this.#connection.outside((db) => {
      try {
        db.exec("PRAGMA temp_store = FILE");
        db.exec("INSERT INTO texts (texts) VALUES ('optimize')");
        db.exec("VACUUM");
        const row = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
        failPoint("scrubbed");
        if (Number(row?.busy) !== 0)
          throw new Error("Somebody reads the database file; its WAL cannot be emptied now");
      } finally {
        db.exec("PRAGMA temp_store = MEMORY");
      }
    });
  }

  /** Tidying up is worth a try; somebody else may be reading the file. */
  close(): void {
    try {
      this.#connection.outside((db) => {
        db.exec("PRAGMA optimize");
        db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      });
      this.#connection.close();
    } catch {
      // Everything is in the log beside the file, and is found there at the next start.
    }
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
