/**
 * What a store in memory holds, and the one way in which it changes: a batch at a time, all of it or nothing. It outlives the
 * store that is opened on it, as a directory outlives a process.
 */

import {
  type Batch,
  BatchFailed,
  type DocumentIndex,
  type NewDocument,
  OnceConflict,
  type OnceRecord,
  type Position,
  type StoredDocument,
  type StoredEvent,
  type Trim,
  VersionConflict,
} from "../port.ts";

export interface HeldDocument extends StoredDocument {
  index: DocumentIndex;
  /** The number and the place of the last event about it. */
  sequence: number;
  lastEvent: Position | null;
}

export class MemoryContents {
  readonly documents = new Map<string, HeldDocument>();
  /** The event of position n is at n - 1; what was trimmed has left a hole. */
  readonly log: (StoredEvent | undefined)[] = [];
  readonly blobs = new Map<string, Uint8Array>();
  /** The tenants that have some content, by its hash. */
  readonly #blobOwners = new Map<string, Set<string>>();
  readonly once = new Map<string, OnceRecord>();
  readonly cursors = new Map<string, Position>();

  get head(): Position {
    return this.log.length;
  }

  /** Throws before anything has changed, or changes everything. */
  write(batch: Batch): StoredEvent[] {
    this.#assertWritable(batch);
    const first = this.head + 1;
    const numbered = new Map<string, { sequence: number; lastEvent: Position | null }>();
    const events = batch.events.map((event) => this.#append({ ...event }, numbered));
    for (const { position, payload, replay } of batch.rewrite ?? []) {
      const event = this.log[position - 1];
      if (event !== undefined)
        this.log[position - 1] = { ...event, payload, ...(replay === undefined ? {} : { replay }) };
    }
    for (const { key, result } of batch.rewriteOnce ?? []) {
      const record = this.once.get(key);
      if (record !== undefined) this.once.set(key, { ...record, result });
    }
    if (batch.trim !== undefined) this.#trim(batch.trim);
    for (const { tenantId, sha256, bytes } of batch.blobs) {
      if (bytes !== null) this.blobs.set(sha256, bytes);
      this.#blobOwners.set(sha256, (this.#blobOwners.get(sha256) ?? new Set()).add(tenantId));
    }
    for (const document of batch.put) {
      const about = events.find(({ resource }) => resource.id === document.id);
      this.#put(document, about?.position ?? first);
    }
    for (const [id, numbers] of numbered) {
      const document = this.documents.get(id);
      if (document !== undefined) this.documents.set(id, { ...document, ...numbers });
    }
    if (batch.once !== undefined)
      this.once.set(batch.once.key, { ...batch.once, position: events.at(-1)?.position ?? null });
    if (batch.cursor !== undefined) this.cursors.set(batch.cursor.name, batch.cursor.to);
    return events;
  }

  bytesOf(tenantId: string): { log: number; blobs: number } {
    const events = this.log.filter((event) => event !== undefined && event.tenantId === tenantId);
    const owned = [...this.blobs].filter(([sha256]) => this.blobOf(tenantId, sha256) !== undefined);
    const sum = (sizes: number[]) => sizes.reduce((total, size) => total + size, 0);
    return {
      log: sum(events.map((event) => Buffer.byteLength(JSON.stringify(event?.payload)))),
      blobs: sum(owned.map(([, bytes]) => bytes.length)),
    };
  }

  blobOf(tenantId: string, sha256: string): Uint8Array | undefined {
    return this.#blobOwners.get(sha256)?.has(tenantId) === true ? this.blobs.get(sha256) : undefined;
  }

  dropBlob(sha256: string): void {
    this.blobs.delete(sha256);
    this.#blobOwners.delete(sha256);
  }

  #assertWritable({ expect, events, put, once, rewrite = [], trim, cursor }: Batch): void {
    for (const { id, version } of expect) {
      if ((this.documents.get(id)?.version ?? 0) !== version) throw new VersionConflict(id);
    }
    if (cursor !== undefined && (this.cursors.get(cursor.name) ?? 0) !== cursor.from)
      throw new VersionConflict(cursor.name);
    if (once !== undefined && this.once.has(once.key)) throw new OnceConflict(once.key);
    for (const { id, index } of put) {
      const { tenantId = index.tenantId } = this.documents.get(id) ?? {};
      if (tenantId !== index.tenantId) throw new BatchFailed(`${id} is not of ${index.tenantId}`);
    }
    const created = new Set(put.map(({ id }) => id));
    for (const { resource } of events) {
      if (!created.has(resource.id) && !this.documents.has(resource.id))
        throw new BatchFailed(`An event is about ${resource.id}, which has no document`);
    }
    for (const position of [...rewrite.map((change) => change.position), ...(trim?.events ?? [])]) {
      if (this.log[position - 1] === undefined)
        throw new BatchFailed(`There is no event ${position} to change`);
    }
  }

  #append(
    event: Batch["events"][number],
    numbered: Map<string, { sequence: number; lastEvent: Position | null }>,
  ): StoredEvent {
    const { id } = event.resource;
    const { sequence = 0, lastEvent = null } = numbered.get(id) ?? this.documents.get(id) ?? {};
    const position = this.head + 1;
    const stored: StoredEvent = { ...event, position, sequence: sequence + 1, previous: lastEvent };
    numbered.set(id, { sequence: stored.sequence, lastEvent: position });
    this.log.push(stored);
    return stored;
  }

  #trim({ events, documents, unlisted }: Trim): void {
    for (const position of events) this.log[position - 1] = undefined;
    for (const { id } of documents) this.documents.delete(id);
    for (const id of unlisted) {
      const document = this.documents.get(id);
      if (document !== undefined)
        this.documents.set(id, { ...document, index: { ...document.index, isListed: false } });
    }
  }

  /** Where a document belongs is settled when it is created; its owner, its status, its times, its rank and its words change. */
  #put({ kind, id, index, body, regained }: NewDocument, born: Position): void {
    const known = this.documents.get(id);
    if (known === undefined) {
      const { tenantId } = index;
      const numbers = { version: 1, born, sequence: 0, lastEvent: null, ...regained };
      this.documents.set(id, { kind, id, tenantId, index, body, ...numbers });
      return;
    }
    const { status = null, wakeAt = null, rank = null, ownerId = null, text = known.index.text } = index;
    const changed = {
      ...known.index,
      status,
      wakeAt,
      rank,
      ownerId,
      ...(text === undefined ? {} : { text }),
    };
    this.documents.set(id, { ...known, body, index: changed, version: known.version + 1 });
  }
}
