/** Why a store cannot be opened, in one sentence: which file, what is wrong with it, and what to do. */

import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { copyMarker } from "../copying.ts";

export class StoreUnusable extends Error {
  override name = "StoreUnusable";
}

const restore = "Restore it from a backup";

/** Primary result codes, https://sqlite.org/rescode.html. */
const byResult: Readonly<Record<number, (file: string, message: string) => string>> = {
  1: (file, message) => `${file} cannot be used as a database of Bridle (${message}). ${restore}.`,
  8: (file) => `${file} is read-only. Let the user who runs Bridle write to it and to its directory.`,
  11: damaged,
  14: (file, message) => cannotOpen(file, message),
  26: (file) => `${file} is not a SQLite database. ${restore}, or choose another directory with --data.`,
};

/** The error to show for one of opening or migrating a database. What has a sentence of its own stays. */
export function openProblem(error: unknown, file: string): unknown {
  if (!(error instanceof Error)) return error;
  if ("errcode" in error && typeof error.errcode === "number") {
    const sentence = byResult[error.errcode & 0xff];
    return sentence === undefined
      ? error
      : new StoreUnusable(sentence(file, error.message), { cause: error });
  }
  if (!("code" in error && typeof error.code === "string" && error.code.startsWith("E"))) return error;
  // The errors of Node.js itself have longer codes, ERR_….
  return error.code.startsWith("ERR_")
    ? error
    : new StoreUnusable(cannotOpen(file, error.code), { cause: error });
}

function cannotOpen(file: string, message: string): string {
  return `Cannot open ${file} (${message}). It must be a file that the user who runs Bridle can read and write; choose another directory with --data.`;
}

export function damaged(file: string, message: string): string {
  return `${file} is damaged (${message}). ${restore}, or salvage what is intact with "bridle doctor --repair --to DIR".`;
}

/** Refuses to make a new database beside what belongs to one that was there. */
export function assertNotLost(directory: string): void {
  const problem = lostDatabase(directory);
  if (problem !== null) throw new StoreUnusable(problem);
}

/** What is wrong if the database is missing beside its other files; null otherwise. */
function lostDatabase(directory: string): string | null {
  const file = join(directory, "bridle.db");
  if (existsSync(file) && statSync(file).size > 0) return null;
  const [left] = [...leftBeside(directory)];
  if (left === undefined) return null;
  const what = existsSync(file) ? "is empty" : "is missing";
  return `${file} ${what}, but ${left} is there. ${restore}; to start with a new database, move ${left} away or choose another directory with --data.`;
}

/** Files that are made after the database. Other keys can be brought to a new server. */
function* leftBeside(directory: string): Generator<string> {
  // SQLite would delete the WAL of an empty database.
  for (const name of ["signing.key", "gateway/bridle.db", "bridle.db-wal"]) {
    const file = join(directory, name);
    if (existsSync(file) && statSync(file).size > 0) yield file;
  }
  const blobs = join(directory, "blobs");
  if (existsSync(blobs) && readdirSync(blobs).some((name) => name !== "incoming")) yield blobs;
}

/** What was not copied to its end is not what it was copied from. */
export function assertCopied(db: DatabaseSync, file: string): void {
  if (db.prepare("SELECT 1 FROM cursors WHERE name = ?").get(copyMarker) === undefined) return;
  throw new StoreUnusable(`${file} is an unfinished copy. Finish it by repeating "bridle copy".`);
}

/** Throws when a table or a column is missing that the newest schema has. */
export function assertComplete(db: DatabaseSync, file: string, migrate: (db: DatabaseSync) => void): void {
  using whole = new DatabaseSync(":memory:");
  migrate(whole);
  const found = columnsOf(db);
  const missing = [...columnsOf(whole)].find((column) => !found.has(column));
  if (missing === undefined) return;
  throw new StoreUnusable(damaged(file, `it has no ${missing}`));
}

function columnsOf(db: DatabaseSync): Set<string> {
  const sql = `SELECT t.name AS name, c.name AS part FROM sqlite_schema t JOIN pragma_table_info(t.name) c
    WHERE t.type = 'table' AND t.name NOT LIKE 'texts_%'`;
  const rows = db.prepare(sql).all();
  return new Set(rows.flatMap(({ name, part }) => [`table ${name}`, `column ${name}.${part}`]));
}
