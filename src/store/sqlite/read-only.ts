/** A database that is only read, by a server that has it open or by none. */

import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

/** Without a write-ahead log there is nothing but the file itself to read, and SQLite makes nothing beside it. */
export function openReadOnly(file: string): DatabaseSync {
  const url = pathToFileURL(file);
  if (!existsSync(`${file}-wal`)) url.searchParams.set("immutable", "1");
  const db = new DatabaseSync(url, { readOnly: true });
  db.exec("PRAGMA busy_timeout = 5000");
  return db;
}
