/**
 * The thread that copies what is committed from the write-ahead log to the database. SQLite would do so in every so many commits, which
 * then take ten times as long, and everybody waits for them. It still does, and finds little left to copy. Both may do it at any time:
 * what was copied is only noted once it is on disk.
 */

import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

export interface CheckpointerOptions {
  file: string;
}

/** Pages that are worth an fsync of the database: an eighth of what a commit waits for. */
const pagesMin = 512;

const { file }: CheckpointerOptions = workerData;
const db = new DatabaseSync(file);
// Until something is read, a connection does not know that there is a write-ahead log.
db.exec("PRAGMA user_version");

parentPort?.on("message", () => {
  const { log, checkpointed } = db.prepare("PRAGMA wal_checkpoint(NOOP)").get() ?? {};
  if (Number(log) - Number(checkpointed) >= pagesMin) db.exec("PRAGMA wal_checkpoint(PASSIVE)");
});
