/**
 * Writes a group of batches in one transaction, so that one fsync pays for all of them. Each batch still succeeds or fails alone, and
 * what is said of it is true.
 */

import type { BatchResult, BatchRows } from "../batch-rows.ts";
import { failPoint } from "../fail-point.ts";
import { WriterFenced } from "./epoch.ts";
import { DocumentExists } from "./pending-documents.ts";
import type { BatchWriter } from "./write-batch.ts";
import { CommitUncertain, type WriteConnection } from "./write-connection.ts";
import { writeFaultOf } from "./write-fault.ts";

type Write = (writer: BatchWriter, batch: BatchRows) => BatchResult;

export class BatchCommitter {
  readonly #connection: WriteConnection;
  readonly #file: string;

  constructor(connection: WriteConnection, file: string) {
    this.#connection = connection;
    this.#file = file;
  }

  commit(batches: readonly BatchRows[]): BatchResult[] {
    return (
      this.#attempt(batches, (writer, batch) => writer.write(batch)) ??
      // Savepoints copy pages. They are made only after a batch has failed, so that the others do not fail with it.
      this.#attempt(batches, (writer, batch) => writer.writeAlone(batch, (error) => this.#explain(error))) ??
      batches.map(() => ({ failed: "The batch was not written", fault: null }))
    );
  }

  /** Null when one of the batches is at fault, and nothing was written. */
  #attempt(batches: readonly BatchRows[], write: Write): BatchResult[] | null {
    let results: BatchResult[] = [];
    try {
      return this.#connection.transaction((connection) => {
        results = batches.map((batch) => write(connection.batches, batch));
        connection.batches.flush();
        return results;
      }, failPoint);
    } catch (error) {
      if (error instanceof WriterFenced) throw error;
      if (error instanceof CommitUncertain) return this.#find(batches, results, error);
      const why = this.#explain(error);
      const isOwn = !("failed" in why) || why.fault === null;
      return isOwn ? null : batches.map(() => why);
    }
  }

  #explain(error: unknown): BatchResult {
    const about = error instanceof Error ? error.message : String(error);
    if (error instanceof DocumentExists) return { conflict: "version", about };
    return { failed: about, fault: writeFaultOf(error, this.#file) };
  }

  /** What became of batches whose COMMIT failed. */
  #find(
    batches: readonly BatchRows[],
    written: readonly BatchResult[],
    { message, fault }: CommitUncertain,
  ): BatchResult[] {
    const instead = (result: BatchResult) => written.map((one) => ("ok" in one ? result : one));
    try {
      const isThere = this.#connection.recheck((open) => open.batches.isWritten(batches, written));
      if (isThere === true) return [...written];
      if (isThere === false) return instead({ failed: message, fault });
    } catch (error) {
      if (error instanceof WriterFenced) throw error;
      // The disk is still in trouble. The next transaction opens the database again.
    }
    return instead({ unknown: message, fault });
  }
}
