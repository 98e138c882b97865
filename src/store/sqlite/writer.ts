/**
 * The writer thread: the only connection that writes. It lives on a thread of its own so that waiting for the disk
 * never stops the event loop that answers requests.
 *
 * A group of batches is one transaction, so one fsync pays for all of them; each batch still succeeds or fails
 * alone. The answer is posted only after COMMIT returned, which with synchronous=FULL means: on disk.
 */

import { flushCompileCache } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import { failPoint } from "../fail-point.ts";
import { BatchCommitter } from "./commit-batches.ts";
import { WriterFenced } from "./epoch.ts";
import type { Request, Response, WriterOptions } from "./protocol.ts";
import { CommitUncertain, WriteConnection } from "./write-connection.ts";
import { writeFaultOf } from "./write-fault.ts";

const { file, epoch }: WriterOptions = workerData;
const connection = new WriteConnection(file, epoch);
const committer = new BatchCommitter(connection, file);

function answer(response: Response): void {
  parentPort?.postMessage(response);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What the writer does beside commits; it may be tried again when it failed. */
function attempt(act: () => Response): Response {
  try {
    return act();
  } catch (error) {
    if (error instanceof WriterFenced) throw error;
    return { type: "failed", reason: messageOf(error) };
  }
}

/** Writes a page, with what it says already, and waits until it is on disk. */
function probe(): Response {
  try {
    connection.transaction(({ db }) => db.exec("UPDATE writer SET epoch = epoch"), failPoint);
    return { type: "probed", fault: null };
  } catch (error) {
    if (error instanceof WriterFenced) throw error;
    const fault = error instanceof CommitUncertain ? error.fault : writeFaultOf(error, file);
    return { type: "probed", fault: fault ?? messageOf(error) };
  }
}

function forgetOnce(before: number): Response {
  return connection.transaction(({ db }) => {
    const { changes } = db.prepare("DELETE FROM once WHERE expires_at < ?").run(before);
    return { type: "forgotten", count: Number(changes) };
  });
}

function dropBlobs(sha256s: string[], scannedThrough: number): Response {
  const dropped = connection.transaction(({ rewriter }) => rewriter.dropBlobs(sha256s, scannedThrough));
  failPoint("blobs.dropped");
  return { type: "dropped", ...dropped };
}

/**
 * Old bytes stay in free pages, in the gaps of pages that were rearranged (`secure_delete` misses those), in the WAL, and the
 * words of deleted documents in their index until its parts are merged. So the index is merged, the whole file is written
 * anew, the copy on the way in a file rather than in memory, and the WAL is emptied.
 */
function scrub(): Response {
  return connection.outside((db) => {
    try {
      db.exec("PRAGMA temp_store = FILE");
      db.exec("INSERT INTO texts (texts) VALUES ('optimize')");
      db.exec("VACUUM");
      const row = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
      failPoint("scrubbed");
      if (Number(row?.busy) === 0) return { type: "scrubbed" };
      return { type: "failed", reason: "Somebody reads the database file; its WAL cannot be emptied now" };
    } finally {
      db.exec("PRAGMA temp_store = MEMORY");
    }
  });
}

/** Tidying up is worth a try; somebody else may be reading the file. */
function close(): Response {
  try {
    connection.outside((db) => {
      db.exec("PRAGMA optimize");
      db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    });
    connection.close();
  } catch {
    // Everything is in the log beside the file, and is found there at the next start.
  }
  return { type: "closed" };
}

function respond(request: Request): Response {
  switch (request.type) {
    case "commit":
      return { type: "committed", results: committer.commit(request.batches) };
    case "forget_once":
      return attempt(() => forgetOnce(request.before));
    case "drop_blobs":
      return attempt(() => dropBlobs(request.sha256s, request.scannedThrough));
    case "scrub":
      return attempt(scrub);
    case "probe":
      return probe();
    case "close":
      return close();
  }
}

parentPort?.on("message", (request: Request) => {
  try {
    answer(respond(request));
    if (request.type === "close") parentPort?.close();
  } catch (error) {
    if (!(error instanceof WriterFenced)) throw error;
    answer({ type: "fenced", reason: error.message });
    parentPort?.close();
  }
});

// Not left to the end, which may come without warning.
flushCompileCache();
