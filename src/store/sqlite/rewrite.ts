/**
 * What changes of the log after it was written: content that is replaced, and blobs that nobody speaks of any more.
 * Runs on the writer thread only. The database zeroes what it frees (`secure_delete`), and `scrub` empties the WAL, so
 * that nothing of it stays in a file.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Position } from "../port.ts";
import type { Dropped, OnceRewriteRow, RewriteRow } from "./protocol.ts";

type LogEntry = [event: string, object: string, id: string, payload: unknown, replay?: unknown];

export class LogRewriter {
  readonly #readRow: StatementSync;
  readonly #updateRow: StatementSync;
  readonly #updateOnce: StatementSync;
  readonly #tail: StatementSync;
  readonly #blobBytes: StatementSync;
  readonly #deleteBlob: StatementSync;

  constructor(db: DatabaseSync) {
    this.#readRow = db.prepare(
      "SELECT last, first, events FROM log WHERE last >= ? AND first <= ? ORDER BY last LIMIT 1",
    );
    this.#updateRow = db.prepare("UPDATE log SET events = ? WHERE last = ?");
    this.#updateOnce = db.prepare("UPDATE once SET result = ? WHERE key = ?");
    this.#tail = db.prepare("SELECT events FROM log WHERE last > ? ORDER BY last");
    this.#blobBytes = db.prepare("SELECT length(bytes) AS bytes FROM blobs WHERE sha256 = ?");
    this.#deleteBlob = db.prepare("DELETE FROM blobs WHERE sha256 = ?");
  }

  /** Rows hold several events: neighbours are replaced together. */
  rewrite(changes: readonly RewriteRow[]): void {
    const sorted = [...changes].sort((a, b) => a.position - b.position);
    for (let index = 0; index < sorted.length; ) {
      const position = sorted[index]?.position ?? 0;
      const row = this.#readRow.get(position, position);
      if (row === undefined) throw new Error(`There is no event ${position} to rewrite`);
      const [first, last] = [Number(row.first), Number(row.last)];
      const entries: LogEntry[] = JSON.parse(String(row.events));
      for (
        let change = sorted[index];
        change !== undefined && change.position <= last;
        change = sorted[index]
      ) {
        replaceContent(entries[change.position - first], change);
        index += 1;
      }
      this.#updateRow.run(JSON.stringify(entries), last);
    }
  }

  rewriteOnce(changes: readonly OnceRewriteRow[]): void {
    for (const { key, result } of changes) this.#updateOnce.run(result, key);
  }

  /** What was committed since the caller looked may speak of a blob again: that one stays. */
  dropBlobs(sha256s: readonly string[], scannedThrough: Position): Dropped {
    const mentioned = new Set<string>();
    for (const row of this.#tail.iterate(scannedThrough)) {
      const text = String(row.events);
      for (const sha256 of sha256s) if (text.includes(sha256)) mentioned.add(sha256);
    }
    let [count, bytes] = [0, 0];
    for (const sha256 of sha256s) {
      if (mentioned.has(sha256)) continue;
      bytes += Number(this.#blobBytes.get(sha256)?.bytes ?? 0);
      count += Number(this.#deleteBlob.run(sha256).changes);
    }
    return { kept: [...mentioned], count, bytes };
  }
}

function replaceContent(entry: LogEntry | undefined, { position, payload, replay }: RewriteRow): void {
  if (entry === undefined) throw new Error(`There is no event ${position} to rewrite`);
  entry[3] = JSON.parse(payload);
  if (replay !== null) entry[4] = JSON.parse(replay);
}
