/**
 * Which process may write to a database. Whoever opens it for writing counts the epoch up by one, and every transaction checks that
 * the epoch is still its own. So a second server, however it came past the lock of the directory, ends the first one's writes.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";

/** This process must not write to the database any more, and has to stop. */
export class WriterFenced extends Error {
  override name = "WriterFenced";
}

/** A new epoch, on disk. With the number of an epoch of this process: only if that is still the current one. */
export function takeEpoch(db: DatabaseSync, mine: number | null): number {
  const row =
    mine === null
      ? db.prepare("UPDATE writer SET epoch = epoch + 1 RETURNING epoch").get()
      : db.prepare("UPDATE writer SET epoch = epoch + 1 WHERE epoch = ? RETURNING epoch").get(mine);
  if (row === undefined) throw takenOver();
  return Number(row.epoch);
}

/** Checks inside an open transaction, which no other process can write beside. */
export class EpochGuard {
  readonly #read: StatementSync;
  readonly #mine: number;

  constructor(db: DatabaseSync, mine: number) {
    this.#read = db.prepare("SELECT epoch FROM writer");
    this.#mine = mine;
  }

  assertOwn(): void {
    if (Number(this.#read.get()?.epoch) !== this.#mine) throw takenOver();
  }
}

function takenOver(): WriterFenced {
  return new WriterFenced("another server has taken over this data directory");
}
