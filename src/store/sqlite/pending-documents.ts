/**
 * Documents as the batches of one transaction leave them. A short task is put twice in one transaction, as submitted and as ended:
 * only the last form is written, with its place in every index. Runs on the writer thread only.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type DocumentRow, putOver } from "../batch-rows.ts";
import type { Position } from "../port.ts";

/** What the writer must know of a document to number its next event and to check its version. */
export interface Head {
  version: number;
  sequence: number;
  lastEvent: Position | null;
}

interface Pending {
  document: DocumentRow;
  head: Head;
  /** The place of its first event; null for a document that is in the table. */
  born: Position | null;
}

/** A batch expects that there is no such document, and there is one. */
export class DocumentExists extends Error {
  constructor(id: string) {
    super(`${id} exists`);
  }
}

/** SQLITE_CONSTRAINT_PRIMARYKEY */
const primaryKeyTaken = 1555;

function isKeyTaken(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === primaryKeyTaken;
}

export class PendingDocuments {
  readonly #pending = new Map<string, Pending>();
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #updateHead: StatementSync;

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(
      `INSERT INTO documents (version, sequence, last_event, born, id, kind, tenant_id, listed_in, workspace_id,
         session_id, task_id, status, wake_at, body, owner_id, rank, label)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#update = db.prepare(
      `UPDATE documents SET version = ?, sequence = ?, last_event = ?, status = ?, wake_at = ?, body = ?,
         rank = ?, owner_id = ? WHERE id = ? AND tenant_id = ?`,
    );
    this.#updateHead = db.prepare("UPDATE documents SET sequence = ?, last_event = ? WHERE id = ?");
  }

  head(id: string): Head | undefined {
    return this.#pending.get(id)?.head;
  }

  /** Puts a document over what `before` says of it: nothing, the table's row, or an earlier batch's form. */
  put(document: DocumentRow, before: Head, born: Position): void {
    const [id, , tenantId] = document;
    const earlier = this.#pending.get(id);
    if (earlier !== undefined && before.version === 0) throw new DocumentExists(id);
    if (earlier !== undefined && earlier.document[2] !== tenantId) throw new Error(notOf(id, tenantId));
    this.#pending.set(id, {
      document: earlier === undefined ? document : putOver(earlier.document, document),
      head: { ...before, version: before.version + 1 },
      born: earlier === undefined ? (before.version === 0 ? born : null) : earlier.born,
    });
  }

  /** Numbers events about a document that stays as it is. */
  number(id: string, head: Head): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) this.#updateHead.run(head.sequence, head.lastEvent, id);
    else pending.head = head;
  }

  /** Writes them. At the end of a transaction, and before anything that reads or changes the table itself. */
  flush(): void {
    for (const pending of this.#pending.values()) this.#write(pending);
    this.#pending.clear();
  }

  /** After a rollback. */
  clear(): void {
    this.#pending.clear();
  }

  #write({ document, head: { version, sequence, lastEvent }, born }: Pending): void {
    if (born !== null) {
      try {
        this.#insert.run(version, sequence, lastEvent, born, ...document);
      } catch (error) {
        throw isKeyTaken(error) ? new DocumentExists(document[0]) : error;
      }
      return;
    }
    const [id, , tenantId, , , , , status, wakeAt, body, ownerId, rank] = document;
    const values = [version, sequence, lastEvent, status, wakeAt, body, rank, ownerId, id, tenantId];
    if (Number(this.#update.run(...values).changes) !== 1) throw new Error(notOf(id, tenantId));
  }
}

function notOf(id: string, tenantId: string): string {
  return `${id} is not of ${tenantId}`;
}
