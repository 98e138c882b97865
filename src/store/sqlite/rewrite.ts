/**
 * What changes of the log after it was written: content that is replaced, events that are removed, and blobs that nobody speaks of any more.
 * Runs on the writer thread only; what the file remembers of it is the business of `scrub`.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Position, Trim } from "../port.ts";
import { bodyIn, isInLog } from "./document-body.ts";
import { checkedRow, checksumOf, sharedColumns } from "./log-rows.ts";
import type { Dropped, OnceRewriteRow, RewriteRow } from "./protocol.ts";

type LogEntry = [
  event: string,
  object: string,
  id: string,
  payload: object,
  replay?: unknown,
  imported?: unknown,
];

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
      const { first, last } = checked;
      const entries: LogEntry[] = JSON.parse(checked.events);
      for (
        let change = sorted[index];
        change !== undefined && change.position <= last;
        change = sorted[index]
      ) {
        replaceContent(entries[change.position - first], change);
        index += 1;
      }
      const events = JSON.stringify(entries);
      this.#updateRow.run(events, checksumOf({ ...checked, events }), last);
    }
  }

  /** What is left of a row is as many rows as it has pieces: a row's positions have no gap. */
  remove({ events, documents, unlisted }: Trim): void {
    const going = new Set(events);
    for (const position of going) {
      const row = this.#readRow.get(position, position);
      if (row === undefined) throw new Error(`There is no event ${position} to remove`);
      const { first, last, shared, ...texts } = checkedRow(row, this.#file);
      this.#deleteRow.run(last);
      const entries: LogEntry[] = JSON.parse(texts.events);
      const allNumbers: unknown[] = JSON.parse(texts.numbers);
      for (const [from, end] of piecesLeft(first, entries.length, going)) {
        const events = JSON.stringify(entries.slice(from, end));
        const numbers = JSON.stringify(allNumbers.slice(from, end));
        const piece = { first: first + from, last: first + end - 1, shared, numbers, events };
        this.#insertRow.run(piece.last, piece.first, ...shared, events, numbers, checksumOf(piece));
      }
      for (const [index, entry] of entries.entries())
        if (going.delete(first + index)) this.#keepDocument(first + index, entry);
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

function replaceContent(entry: LogEntry | undefined, { position, payload, replay }: RewriteRow): void {
  if (entry === undefined) throw new Error(`There is no event ${position} to rewrite`);
  entry[3] = JSON.parse(payload);
  if (replay !== null) entry[4] = JSON.parse(replay);
}

/** The runs of a row's events that stay, as indexes. */
function piecesLeft(
  first: Position,
  length: number,
  going: ReadonlySet<Position>,
): [from: number, end: number][] {
  const pieces: [number, number][] = [];
  for (let index = 0; index < length; index++) {
    if (going.has(first + index)) continue;
    const piece = pieces.at(-1);
    if (piece !== undefined && piece[1] === index) piece[1] = index + 1;
    else pieces.push([index, index + 1]);
  }
  return pieces;
}
