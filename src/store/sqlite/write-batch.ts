/**
 * Writes one batch inside an open transaction: checks what it expects, numbers its events, folds the numbers into
 * the documents. Runs on the writer thread only.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { BatchResult, BatchRows, LogRow } from "../batch-rows.ts";
import { Generations } from "../generations.ts";
import { checksumOf } from "../log-rows.ts";
import type { NewOnceRecord, Position, Trim } from "../port.ts";
import { type Head, PendingDocuments } from "./pending-documents.ts";
import { LogRewriter } from "./rewrite.ts";

/** Heads kept in memory, twice; others are read again from the table. */
const headsMax = 20_000;

const absent: Head = { version: 0, sequence: 0, lastEvent: null };

export class BatchWriter {
  readonly #heads = new Generations<Head>(headsMax);
  #position: Position;
  readonly #readHead: StatementSync;
  readonly #readPosition: StatementSync;
  readonly #insertLog: StatementSync;
  readonly #documents: PendingDocuments;
  readonly #insertBlob: StatementSync;
  readonly #insertBlobOwner: StatementSync;
  readonly #readOnce: StatementSync;
  readonly #insertOnce: StatementSync;
  readonly #readCursor: StatementSync;
  readonly #moveCursor: StatementSync;
  readonly #deleteText: StatementSync;
  readonly #insertText: StatementSync;
  readonly #begin: StatementSync;
  readonly #undo: StatementSync;
  readonly #release: StatementSync;
  readonly #rewriter: LogRewriter;

  constructor(db: DatabaseSync) {
    this.#rewriter = new LogRewriter(db);
    this.#begin = db.prepare("SAVEPOINT batch");
    this.#undo = db.prepare("ROLLBACK TO batch");
    this.#release = db.prepare("RELEASE batch");
    this.#readHead = db.prepare("SELECT version, sequence, last_event FROM documents WHERE id = ?");
    // After a repair the log may have lost its end, which those who follow it have seen.
    this.#readPosition = db.prepare(
      `SELECT max(coalesce((SELECT max(last) FROM log), 0), coalesce((SELECT max(position) FROM cursors), 0)) AS position`,
    );
    this.#insertLog = db.prepare(
      `INSERT INTO log (checksum, last, first, numbers, tenant_id, workspace_id, session_id, task_id, actor, key_id, created_at, events)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#documents = new PendingDocuments(db);
    this.#insertBlob = db.prepare("INSERT OR IGNORE INTO blobs (sha256, bytes) VALUES (?, ?)");
    this.#insertBlobOwner = db.prepare(
      "INSERT OR IGNORE INTO blob_owners (sha256, tenant_id, bytes) VALUES (?, ?, ?)",
    );
    this.#readOnce = db.prepare("SELECT 1 FROM once WHERE key = ?");
    this.#insertOnce = db.prepare(
      "INSERT OR IGNORE INTO once (key, fingerprint, result, expires_at, position) VALUES (?, ?, ?, ?, ?)",
    );
    this.#readCursor = db.prepare("SELECT position FROM cursors WHERE name = ?");
    this.#moveCursor = db.prepare("INSERT OR REPLACE INTO cursors (name, position) VALUES (?, ?)");
    this.#deleteText = db.prepare(
      "DELETE FROM texts WHERE rowid = (SELECT born FROM documents WHERE id = ?)",
    );
    this.#insertText = db.prepare(
      "INSERT INTO texts (rowid, text) SELECT born, ? FROM documents WHERE id = ?",
    );
    this.#position = this.#lastPosition();
  }

  /** The last position of the log, with what is written in the open transaction. */
  get position(): Position {
    return this.#position;
  }

  /** After a rollback what was numbered and remembered is void. */
  forget(): void {
    this.#documents.clear();
    this.#heads.clear();
    this.#position = this.#lastPosition();
  }

  /** Whether batches of one transaction, with these results, are in the database; null if none of them can be recognized. */
  isWritten(batches: readonly BatchRows[], results: readonly BatchResult[]): boolean | null {
    for (const [index, result] of results.entries()) {
      if (!("ok" in result)) continue;
      const { first, sequences } = result.ok;
      if (sequences.length > 0) return this.#position >= first;
      const { once } = batches[index] ?? { once: null };
      if (once !== null) return this.#readOnce.get(once.key) !== undefined;
    }
    return null;
  }

  /** Writes a batch that may fail without taking the open transaction with it. */
  writeAlone(batch: BatchRows, explain: (error: unknown) => BatchResult): BatchResult {
    const before = this.#position;
    this.#begin.run();
    try {
      const result = this.write(batch);
      this.flush();
      this.#release.run();
      return result;
    } catch (error) {
      const why = explain(error);
      // With a disk that fails there is nothing to go on with.
      if ("failed" in why && why.fault !== null) throw error;
      this.#undo.run();
      this.#release.run();
      this.#documents.clear();
      this.#heads.clear();
      this.#position = before;
      return why;
    }
  }

  /** Before the end of a transaction: writes the documents that its batches have put. */
  flush(): void {
    this.#documents.flush();
  }

  /** Conflicts found by looking leave no trace; a document that exists unexpectedly shows as a constraint error. */
  write(batch: BatchRows): BatchResult {
    const put = new Set(batch.put.map(([id]) => id));
    for (const [id, version] of batch.expect) {
      // A document that is put as new is checked by the table itself, at no cost.
      const checkedByInsert = version === 0 && put.has(id);
      if (!checkedByInsert && this.#head(id).version !== version) return { conflict: "version", about: id };
    }
    if (batch.cursor !== null) {
      const { name, from } = batch.cursor;
      if (Number(this.#readCursor.get(name)?.position ?? 0) !== from)
        return { conflict: "version", about: name };
    }
    if (batch.once !== null && !this.#keep(batch.once, batch.log)) {
      return { conflict: "once", about: batch.once.key };
    }

    const created = new Set(batch.expect.flatMap(([id, version]) => (version === 0 ? [id] : [])));
    const heads = new Map<string, Head>();
    const headOf = (id: string): Head => heads.get(id) ?? (created.has(id) ? absent : this.#head(id));

    const first = this.#position + 1;
    const born = new Map<string, Position>();
    const sequences: number[] = [];
    const previous: (Position | null)[] = [];
    for (const { row, resourceIds } of batch.log) {
      const numbers = resourceIds.map((id): [number, Position | null] => {
        const head = headOf(id);
        this.#position += 1;
        heads.set(id, { version: head.version, sequence: head.sequence + 1, lastEvent: this.#position });
        if (!born.has(id)) born.set(id, this.#position);
        return [head.sequence + 1, head.lastEvent];
      });
      this.#append(row, numbers);
      for (const [sequence, before] of numbers) {
        sequences.push(sequence);
        previous.push(before);
      }
    }

    if (batch.rewrite.length + batch.rewriteOnce.length > 0 || batch.trim !== null) this.flush();
    this.#rewriter.rewrite(batch.rewrite);
    this.#rewriter.rewriteOnce(batch.rewriteOnce);
    if (batch.trim !== null) this.#trim(batch.trim);
    for (const { tenantId, sha256, bytes, stagedBytes = 0 } of batch.blobs) {
      if (bytes !== null) this.#insertBlob.run(sha256, bytes);
      this.#insertBlobOwner.run(sha256, tenantId, bytes?.length ?? stagedBytes);
    }
    const regained = new Map(batch.regained);
    for (const document of batch.put) {
      const [id] = document;
      const again = regained.get(id);
      const head = again === undefined ? headOf(id) : { version: 0, ...again };
      this.#documents.put(document, head, again?.born ?? born.get(id) ?? first);
      heads.set(id, { ...head, version: head.version + 1 });
    }
    if (batch.texts.length > 0) this.flush();
    for (const [id, text] of batch.texts) {
      this.#deleteText.run(id);
      if (text !== null) this.#insertText.run(text, id);
    }
    for (const [id, head] of heads) {
      if (put.has(id)) continue;
      if (head.version === 0) throw new Error(`An event is about ${id}, which has no document`);
      this.#documents.number(id, head);
    }
    if (batch.cursor !== null) this.#moveCursor.run(batch.cursor.name, batch.cursor.to);
    for (const [id, head] of heads) this.#heads.set(id, head);
    return { ok: { first, sequences, previous } };
  }

  /** False if there is an answer under this key already. */
  #keep({ key, fingerprint, result, expiresAt }: NewOnceRecord, log: BatchRows["log"]): boolean {
    const events = log.reduce((count, { resourceIds }) => count + resourceIds.length, 0);
    const position = events === 0 ? null : this.#position + events;
    return Number(this.#insertOnce.run(key, fingerprint, result, expiresAt, position).changes) === 1;
  }

  #trim(trim: Trim): void {
    this.#rewriter.remove(trim);
    for (const { id } of trim.documents) this.#heads.delete(id);
  }

  #append(row: LogRow, numbers: readonly (readonly [number, Position | null])[]): void {
    const [last, first] = [this.#position, this.#position - numbers.length + 1];
    const text = JSON.stringify(numbers);
    const [events, shared] = [row[7], row.slice(0, 7)];
    this.#insertLog.run(
      checksumOf({ first, last, shared, numbers: text, events }),
      last,
      first,
      text,
      ...row,
    );
  }

  #head(id: string): Head {
    const known = this.#documents.head(id) ?? this.#heads.get(id);
    if (known !== undefined) return known;
    const row = this.#readHead.get(id);
    if (row === undefined) return absent;
    const head: Head = {
      version: Number(row.version),
      sequence: Number(row.sequence),
      lastEvent: row.last_event === null ? null : Number(row.last_event),
    };
    this.#heads.set(id, head);
    return head;
  }

  #lastPosition(): Position {
    return Number(this.#readPosition.get()?.position ?? 0);
  }
}
