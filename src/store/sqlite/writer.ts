/**
 * The writer thread: the only connection that writes. It lives on a thread of its own so that waiting for the disk
 * never stops the event loop that answers requests.
 *
 * A group of batches is one transaction, so one fsync pays for all of them; each batch still succeeds or fails
 * alone. The answer is posted only after COMMIT returned, which with synchronous=FULL means: on disk.
 */

import { flushCompileCache } from "node:module";
import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { failPoint } from "./fail-point.ts";
import type { BatchResult, BatchRows, Request, Response, WriterOptions } from "./protocol.ts";
import { LogRewriter } from "./rewrite.ts";
import { configure } from "./schema.ts";
import { BatchWriter, DocumentExists } from "./write-batch.ts";
import { writeFaultOf } from "./write-fault.ts";

const { file }: WriterOptions = workerData;
// The search index gives rows of its own ids above 2^53, which `run` would report and could not as a number.
const db = new DatabaseSync(file, { readBigInts: true });
configure(db);
const writer = new BatchWriter(db);
const rewriter = new LogRewriter(db);

function answer(response: Response): void {
  parentPort?.postMessage(response);
}

function commitGroup(batches: BatchRows[]): BatchResult[] {
  try {
    failPoint("commit.begun");
    db.exec("BEGIN IMMEDIATE");
    const results = batches.map((batch) => writer.write(batch));
    failPoint("commit.written");
    db.exec("COMMIT");
    failPoint("commit.durable");
    return results;
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    writer.forget();
    // One batch spoiled the group: give each a transaction of its own, so that only the guilty one fails.
    if (batches.length > 1) return batches.flatMap((batch) => commitGroup([batch]));
    return [explain(error)];
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function explain(error: unknown): BatchResult {
  const about = messageOf(error);
  if (error instanceof DocumentExists) return { conflict: "version", about };
  return { failed: about, fault: writeFaultOf(error, file) };
}

/** Writes a page, with what it says already, and waits until it is on disk. */
function probe(): Response {
  try {
    failPoint("commit.begun");
    const row = db.prepare("PRAGMA user_version").get();
    db.exec(`PRAGMA user_version = ${Number(row?.user_version)}`);
    return { type: "probed", fault: null };
  } catch (error) {
    return { type: "probed", fault: writeFaultOf(error, file) ?? messageOf(error) };
  }
}

function forgetOnce(before: number): Response {
  try {
    const { changes } = db.prepare("DELETE FROM once WHERE expires_at < ?").run(before);
    return { type: "forgotten", count: Number(changes) };
  } catch (error) {
    return { type: "failed", reason: messageOf(error) };
  }
}

function dropBlobs(sha256s: string[], scannedThrough: number): Response {
  try {
    db.exec("BEGIN IMMEDIATE");
    const dropped = rewriter.dropBlobs(sha256s, scannedThrough);
    db.exec("COMMIT");
    failPoint("blobs.dropped");
    return { type: "dropped", ...dropped };
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    return { type: "failed", reason: messageOf(error) };
  }
}

/**
 * Old bytes stay in free pages, in the gaps of pages that were rearranged (`secure_delete` misses those), in the WAL, and the
 * words of deleted documents in their index until its parts are merged. So the index is merged, the whole file is written
 * anew, the copy on the way in a file rather than in memory, and the WAL is emptied.
 */
function scrub(): Response {
  try {
    db.exec("PRAGMA temp_store = FILE");
    db.exec("INSERT INTO texts (texts) VALUES ('optimize')");
    db.exec("VACUUM");
    const row = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    failPoint("scrubbed");
    if (Number(row?.busy) === 0) return { type: "scrubbed" };
    return { type: "failed", reason: "Somebody reads the database file; its WAL cannot be emptied now" };
  } catch (error) {
    return { type: "failed", reason: messageOf(error) };
  } finally {
    db.exec("PRAGMA temp_store = MEMORY");
  }
}

/** Tidying up is worth a try; somebody else may be reading the file. */
function close(): Response {
  try {
    db.exec("PRAGMA optimize");
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // Everything is in the log beside the file, and is found there at the next start.
  }
  db.close();
  return { type: "closed" };
}

parentPort?.on("message", (request: Request) => {
  switch (request.type) {
    case "commit":
      return answer({ type: "committed", results: commitGroup(request.batches) });
    case "forget_once":
      return answer(forgetOnce(request.before));
    case "drop_blobs":
      return answer(dropBlobs(request.sha256s, request.scannedThrough));
    case "scrub":
      return answer(scrub());
    case "probe":
      return answer(probe());
    case "close":
      answer(close());
      parentPort?.close();
  }
});

// Not left to the end, which may come without warning.
flushCompileCache();
