/** A table of JSON values that may be larger than memory, in a file that is removed when it is closed. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";

/** Values kept as objects before they are written to the file. */
const keptMax = 1000;

export class ScratchTable<Value> {
  readonly #file: string;
  readonly #db: DatabaseSync;
  readonly #read: StatementSync;
  readonly #write: StatementSync;
  /** What was read or changed last; all of it is written together. */
  readonly #kept = new Map<string, Value>();
  #size = 0;

  constructor(directory: string) {
    this.#file = join(directory, "scratch.db");
    // One that a process left which was killed. Whoever is here holds the lock of the directory.
    rmSync(this.#file, { force: true });
    this.#db = new DatabaseSync(this.#file);
    this.#db.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384");
    this.#db.exec("CREATE TABLE scratch (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID");
    this.#read = this.#db.prepare("SELECT value FROM scratch WHERE key = ?");
    this.#write = this.#db.prepare(
      "INSERT INTO scratch VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    );
  }

  get size(): number {
    return this.#size;
  }

  get(key: string): Value | undefined {
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const row = this.#read.get(key);
    return row === undefined ? undefined : JSON.parse(String(row.value));
  }

  set(key: string, value: Value): void {
    if (this.get(key) === undefined) this.#size += 1;
    this.#kept.set(key, value);
    if (this.#kept.size >= keptMax) this.#flush();
  }

  /** In the order of their keys. */
  *entries(): Generator<[key: string, value: Value]> {
    this.#flush();
    for (const { key, value } of this.#db.prepare("SELECT key, value FROM scratch ORDER BY key").iterate()) {
      yield [String(key), JSON.parse(String(value))];
    }
  }

  [Symbol.dispose](): void {
    this.#db.close();
    rmSync(this.#file, { force: true });
  }

  #flush(): void {
    this.#db.exec("BEGIN");
    for (const [key, value] of this.#kept) this.#write.run(key, JSON.stringify(value));
    this.#db.exec("COMMIT");
    this.#kept.clear();
  }
}
