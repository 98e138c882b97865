/**
 * What changes of the log after it was written: content that is replaced, events that are removed, and blobs that nobody speaks of any more.
 * Runs on the writer thread only; what the file remembers of it is the business of `scrub`.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Dropped, OnceRewriteRow, RewriteRow } from "../batch-rows.ts";
import type { LogEntry } from "../compact-entries.ts";
import { piecesLeft, replaced } from "../log-edits.ts";
import { checkedRow, entriesOf, sharedColumns } from "../log-rows.ts";
import type { Position, Trim } from "../port.ts";
import { bodyIn, isInLog } from "./document-body.ts";

export class LogRewriter {
  readonly #file: string;
  readonly #readRow: StatementSync;
  readonly #updateRow: StatementSync;
  readonly #updateOnce: StatementSync;
  readonly #deleteRow: StatementSync;
  readonly #insertRow: StatementSync;
  readonly #deleteDocument: StatementSync;
  readonly #unlist: StatementSync;
  readonly #readBody: StatementSync;
  readonly #writeBody: StatementSync;
  readonly #tail: StatementSync;
  readonly #blobBytes: StatementSync;
  readonly #deleteBlob: StatementSync;
  readonly #deleteBlobOwners: StatementSync;

  constructor(db: DatabaseSync) {
    this.#file = db.location() ?? "";
    this.#readRow = db.prepare("SELECT * FROM log WHERE last >= ? AND first <= ? ORDER BY last LIMIT 1");
    this.#updateRow = db.prepare("UPDATE log SET events = ?, checksum = ? WHERE last = ?");
    this.#updateOnce = db.prepare("UPDATE once SET result = ? WHERE key = ?");
    this.#deleteRow = db.prepare("DELETE FROM log WHERE last = ?");
    this.#insertRow = db.prepare(
      `INSERT INTO log (last, first, ${sharedColumns.join(", ")}, events, numbers, checksum)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#deleteDocument = db.prepare("DELETE FROM documents WHERE id = ?");
    this.#unlist = db.prepare("UPDATE documents SET listed_in = NULL WHERE id = ?");
    this.#readBody = db.prepare("SELECT body FROM documents WHERE id = ? AND born = ?");
    this.#writeBody = db.prepare("UPDATE documents SET body = ? WHERE id = ?");
    this.#tail = db.prepare("SELECT events FROM log WHERE last > ? ORDER BY last");
    this.#blobBytes = db.prepare("SELECT length(bytes) AS bytes FROM blobs WHERE sha256 = ?");
    this.#deleteBlob = db.prepare("DELETE FROM blobs WHERE sha256 = ?");
    this.#deleteBlobOwners = db.prepare("DELETE FROM blob_owners WHERE sha256 = ?");
  }

  /** Rows hold several events: neighbours are replaced together. */
  rewrite(changes: readonly RewriteRow[]): void {
    const sorted = [...changes].sort((a, b) => a.position - b.position);
    for (let index = 0; index < sorted.length; ) {
      const position = sorted[index]?.position ?? 0;
      const row = this.#readRow.get(position, position);
      if (row === undefined) throw new Error(`There is no event ${position} to rewrite`);
      const checked = checkedRow(row, this.#file);
      const end = sorted.findIndex((change, at) => at >= index && change.position > checked.last);
      const here = sorted.slice(index, end === -1 ? undefined : end);
      index += here.length;
      const { events, checksum, last } = replaced(checked, here);
      this.#updateRow.run(events, checksum, last);
    }
  }

  /** What is left of a row is as many rows as it has pieces: a row's positions have no gap. */
  remove({ events, documents, unlisted }: Trim): void {
    const going = new Set(events);
    for (const position of going) {
      const row = this.#readRow.get(position, position);
      if (row === undefined) throw new Error(`There is no event ${position} to remove`);
      const whole = checkedRow(row, this.#file);
      this.#deleteRow.run(whole.last);
      for (const { first, last, shared, events, numbers, checksum } of piecesLeft(whole, going))
        this.#insertRow.run(last, first, ...shared, events, numbers, checksum);
      for (const [index, entry] of entriesOf(whole).entries()) {
        const place = whole.first + index;
        if (going.delete(place)) this.#keepDocument(place, entry);
      }
    }
    for (const { id } of documents) this.#deleteDocument.run(id);
    for (const id of unlisted) this.#unlist.run(id);
  }

  /** A document may be what its first event says; without that event it has to be written. */
  #keepDocument(position: Position, [, , id, payload]: LogEntry): void {
    const body = this.#readBody.get(id, position)?.body;
    if (typeof body !== "string" || !isInLog(body)) return;
    this.#writeBody.run(JSON.stringify(bodyIn({ payload }, body)), id);
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
      this.#deleteBlobOwners.run(sha256);
    }
    return { kept: [...mentioned], count, bytes };
  }
}
