/** A look at a store that no server has open. Nothing is written, not even the files that SQLite likes to have beside it. */

import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { damaged, openProblem, StoreUnusable } from "./open-problems.ts";
import { openReadOnly } from "./read-only.ts";
import { knownSchema } from "./schema.ts";

export interface StoreInspection {
  /** The last position of the log; 0 in an empty one. */
  head: number;
  /** When the newest event happened; null in an empty log. */
  newestAt: string | null;
  bytes: number;
  /** Whether all its pages were looked at. */
  isChecked: boolean;
}

/** Looking through more than this takes longer than somebody waits. */
const checkedBytesMax = 256 * 1024 * 1024;

/** Null where there is none. Throws when it cannot be used. */
export function inspectStore(directory: string, bytesMax = checkedBytesMax): StoreInspection | null {
  const file = join(directory, "bridle.db");
  // A file of no bytes is one that a server began to make.
  const bytes = existsSync(file) ? statSync(file).size : 0;
  if (bytes === 0) return null;
  const db = openReadOnly(file);
  try {
    knownSchema(db);
    const isChecked = bytes <= bytesMax;
    const damage = isChecked ? db.prepare("PRAGMA quick_check(1)").get()?.quick_check : "ok";
    if (damage !== "ok") throw new StoreUnusable(damaged(file, String(damage)));
    const newest = db.prepare("SELECT last, created_at FROM log ORDER BY last DESC LIMIT 1").get();
    const newestAt = newest === undefined ? null : String(newest.created_at);
    return { head: Number(newest?.last ?? 0), newestAt, bytes, isChecked };
  } catch (error) {
    throw openProblem(error, file);
  } finally {
    db.close();
  }
}
