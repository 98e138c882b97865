/** The SQLite store in a directory that it locks, with its writer on a thread of its own. */

import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { CommitWatch } from "../commit-queue.ts";
import type { WholeStore } from "../whole-store.ts";
import { BlobFiles } from "./blob-files.ts";
import { takeEpoch } from "./epoch.ts";
import { type DiskFloor, diskFloorDefault, FreeSpace } from "./free-space.ts";
import { lockDirectory } from "./lock.ts";
import { assertComplete, assertCopied, assertNotLost, openProblem } from "./open-problems.ts";
import { Reader } from "./reader.ts";
import { configure, migrate } from "./schema.ts";
import { sqliteStore } from "./store.ts";
import { writeFaultOf } from "./write-fault.ts";
import { WriterThread } from "./writer-thread.ts";

export async function openSqliteStore(
  directory: string,
  watch: CommitWatch = {},
  floor: DiskFloor = diskFloorDefault,
): Promise<WholeStore> {
  const file = join(directory, "bridle.db");
  const lock = lockFor(directory, file);
  try {
    assertNotLost(directory);
    // The log holds what people said: for its owner only. SQLite gives the files beside it the same mode.
    closeSync(openSync(file, "a", 0o600));
    chmodSync(file, 0o600);
    const space = new FreeSpace(directory, floor);
    const blobs = await BlobFiles.open(join(directory, "blobs"));
    const { reader, epoch } = openReader(file);
    return sqliteStore({
      reader,
      openWriter: (onStopped) => new WriterThread({ file, epoch }, onStopped),
      blobs,
      watch,
      shortage: () => space.shortage(),
      release: () => lock.release(),
    });
  } catch (error) {
    lock.release();
    throw openProblem(error, file);
  }
}

function lockFor(directory: string, file: string): { release(): void } {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return lockDirectory(directory);
  } catch (error) {
    throw openProblem(error, file);
  }
}

/** Brings the tables up to date; nobody is served yet. Another connection stays open until the reader has found the WAL. */
function openReader(file: string): { reader: Reader; epoch: number | null } {
  const db = new DatabaseSync(file);
  try {
    configure(db);
    migrate(db);
    assertComplete(db, file, migrate);
    assertCopied(db, file);
    return { epoch: epochIfWritable(db, file), reader: new Reader(file) };
  } finally {
    db.close();
  }
}

/** A server also starts on a disk that is full; the writer takes its epoch when there is room again. */
function epochIfWritable(db: DatabaseSync, file: string): number | null {
  try {
    return takeEpoch(db, null);
  } catch (error) {
    if (writeFaultOf(error, file) === null) throw error;
    return null;
  }
}
