/** A copy of a store's database as it is at one moment, also while a server writes to it. */

import { join } from "node:path";
import { backup } from "node:sqlite";
import { openReadOnly } from "./read-only.ts";

/** Pages that are copied before it is said how far it is. */
const pagesAtOnce = 512;

/**
 * The transaction that is open meanwhile keeps the moment: a server goes on writing and the copy does not see it. Whoever copies a
 * store that no server has open must hold its lock.
 */
export async function copyDatabase(
  directory: string,
  target: string,
  onProgress: (share: number) => void,
): Promise<void> {
  const db = openReadOnly(join(directory, "bridle.db"));
  try {
    db.exec("BEGIN");
    // A transaction begins with the first look.
    db.prepare("SELECT count(*) FROM sqlite_schema").get();
    await backup(db, join(target, "bridle.db"), {
      rate: pagesAtOnce,
      progress: ({ totalPages, remainingPages }) => onProgress(1 - remainingPages / totalPages),
    });
  } finally {
    db.close();
  }
}
