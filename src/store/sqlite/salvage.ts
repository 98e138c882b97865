/** Copies every row of a damaged database that can be read and is what was written into a new one. */

import { hash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { type Row, toEvents } from "../log-rows.ts";
import { DocumentBodies } from "./document-body.ts";
import type { Damage, OnDamage } from "./examine-database.ts";
import { configure, knownSchema, migrate } from "./schema.ts";

export interface SalvagedRows {
  events: number;
  /** Whether the log has all events that it had. */
  isLogWhole: boolean;
  documents: number;
  contents: number;
}

type Table = "log" | "documents" | "blobs" | "blob_owners" | "once" | "cursors";

const keyOf: Record<Table, string> = {
  log: "last",
  documents: "id",
  blobs: "sha256",
  blob_owners: "sha256, tenant_id",
  once: "key",
  cursors: "name",
};

const pageSize = 200;

export class Salvage {
  readonly #file: string;
  readonly #source: DatabaseSync;
  readonly #target: DatabaseSync;
  readonly #onLost: OnDamage;

  /** The target directory is new. */
  constructor(source: string, target: string, onLost: OnDamage) {
    this.#file = join(source, "bridle.db");
    this.#source = new DatabaseSync(this.#file, { readOnly: true });
    knownSchema(this.#source);
    this.#target = new DatabaseSync(join(target, "bridle.db"));
    this.#onLost = onLost;
    configure(this.#target);
    migrate(this.#target);
  }

  [Symbol.dispose](): void {
    this.#source.close();
    this.#target.close();
  }

  /** All but the documents. */
  copyLogAndContents(): Omit<SalvagedRows, "documents"> {
    let lost = 0;
    const lose = (where: string, problem: unknown) => {
      lost += 1;
      this.#lose("event", where, problem);
    };
    let events = 0;
    let last = 0;
    this.#copy("log", this.#logRows(lose), (row) => {
      last = Number(row.last);
      try {
        events += toEvents(row, this.#file).length;
        return true;
      } catch (error) {
        lose(`${row.first} to ${row.last}`, error);
        return false;
      }
    });
    const head = this.#head();
    // Trimming leaves gaps in the log, but never at its end.
    if (last < head && lost === 0) lose(`${last + 1} to ${head}`, "they are missing");
    const contents = this.#copy("blobs", this.#rows("blobs", "content"), ({ sha256, bytes }) => {
      if (bytes instanceof Uint8Array && hash("sha256", bytes) === sha256) return true;
      this.#lose("content", String(sha256), "it does not match its hash");
      return false;
    });
    this.#copy("blob_owners", this.#rows("blob_owners", "content"));
    this.#copy("once", this.#rows("once", "document"));
    this.#copyCursors();
    // What was lost at the end of the log was seen by those who followed it: its positions are not given out again.
    if (last < head) this.#setCursor("repaired", head);
    return { events, isLogWhole: lost === 0, contents };
  }

  /** What those who follow the log have done is not done again. */
  #copyCursors(): void {
    if (this.#columns("cursors").length > 0) {
      this.#copy("cursors", this.#rows("cursors", "document"));
      return;
    }
    // The same as in the migration.
    this.#setCursor("receipts", this.#head());
  }

  #setCursor(name: string, position: number): void {
    this.#target.prepare("INSERT INTO cursors (name, position) VALUES (?, ?)").run(name, position);
  }

  /** For databases whose documents are not made of events. */
  copyDocuments(): number {
    return this.#copy("documents", this.documents());
  }

  /** Those that can be read. */
  *documents(): Generator<Row> {
    const bodies = new DocumentBodies(this.#source);
    for (const row of this.#rows("documents", "document")) {
      try {
        const body = bodies.read({ body: row.body ?? null, born: row.born ?? null });
        yield { ...row, body: JSON.stringify(body) };
      } catch (error) {
        this.#lose("document", String(row.id), error);
      }
    }
  }

  #lose(what: Damage["what"], where: string, problem: unknown): void {
    const text = problem instanceof Error ? problem.message : String(problem);
    this.#onLost({ file: this.#file, what, where, problem: text });
  }

  #copy(table: Table, rows: Iterable<Row>, isIntact: (row: Row) => boolean = () => true): number {
    const columns = this.#columns(table);
    const insert = this.#target.prepare(
      `INSERT OR IGNORE INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    );
    let count = 0;
    this.#target.exec("BEGIN");
    for (const row of rows) {
      if (!isIntact(row)) continue;
      insert.run(...columns.map((column): SQLInputValue => row[column] ?? null));
      count += 1;
    }
    this.#target.exec("COMMIT");
    return count;
  }

  /** The source may be of an earlier version. */
  #columns(table: Table): string[] {
    const sql = "SELECT name FROM pragma_table_info(?)";
    const known = this.#source.prepare(sql).all(table);
    return known.map(({ name }) => String(name));
  }

  /** Where a page of the file is damaged, its rows are tried one by one. */
  *#logRows(lose: (where: string, problem: unknown) => void): Generator<Row> {
    const page = this.#source.prepare(`SELECT * FROM log WHERE last > ? ORDER BY last LIMIT ${pageSize}`);
    const one = this.#source.prepare("SELECT * FROM log WHERE last = ?");
    const head = this.#head();
    for (let after = 0; after < head; ) {
      try {
        const rows = page.all(after);
        if (rows.length === 0) return;
        yield* rows;
        after = Number(rows.at(-1)?.last);
      } catch {
        const end = Math.min(after + pageSize, head);
        for (let position = after + 1; position <= end; position++) {
          try {
            const row = one.get(position);
            if (row !== undefined) yield row;
          } catch (error) {
            lose(String(position), error);
          }
        }
        after = end;
      }
    }
  }

  /** The end of the log, by whatever can still be read. */
  #head(): number {
    const heads = ["SELECT max(last) AS n FROM log", "SELECT max(last_event) AS n FROM documents"].map(
      (sql) => {
        try {
          return Number(this.#source.prepare(sql).get()?.n ?? 0);
        } catch {
          return 0;
        }
      },
    );
    return Math.max(...heads);
  }

  /** From the beginning up to damage, and from the end back to it. */
  *#rows(table: Table, what: Damage["what"]): Generator<Row> {
    const key = keyOf[table];
    try {
      yield* this.#source.prepare(`SELECT * FROM ${table} ORDER BY ${key}`).iterate();
      return;
    } catch (error) {
      this.#lose(what, `a part of the table ${table}`, error);
    }
    try {
      const backwards = key.replaceAll(/(\w+)/g, "$1 DESC");
      yield* this.#source.prepare(`SELECT * FROM ${table} ORDER BY ${backwards}`).iterate();
    } catch {
      // Reported above. What was read twice is written once.
    }
  }
}
