/**
 * Documents in memory, for a store that nobody else writes to. Reading takes a while here: what is committed about a document in the
 * meantime makes what was read old, and it is not kept then.
 */

import type { BatchRows } from "../batch-rows.ts";
import { DocumentCache } from "../document-cache.ts";
import type { Batch, StoredDocument, StoredEvent } from "../port.ts";

/** A document and about how long it is as JSON. */
export interface ReadDocument {
  document: StoredDocument;
  bytes: number;
}

interface Reading {
  isOld: boolean;
}

export class CachedDocuments {
  readonly #cache = new DocumentCache();
  readonly #readings = new Map<string, Set<Reading>>();

  get(kind: string, id: string): StoredDocument | undefined {
    return this.#cache.get(kind, id);
  }

  /** Keeps what a read finds of these documents. */
  async reading(
    ids: readonly string[],
    read: () => Promise<ReadDocument[]>,
  ): Promise<Map<string, StoredDocument>> {
    const readings = new Map(ids.map((id) => [id, this.#begin(id)]));
    try {
      const found = await read();
      for (const { document, bytes } of found)
        if (readings.get(document.id)?.isOld === false) this.#cache.keep(document, bytes);
      return new Map(found.map(({ document }) => [document.id, document]));
    } finally {
      for (const [id, reading] of readings) this.#end(id, reading);
    }
  }

  /** A commit has put or removed these; what became of them is read again. */
  forget(batch: Batch): void {
    this.#outdateAll(batch);
    this.#cache.forget(batch);
  }

  committed(batch: Batch, events: readonly StoredEvent[], { put }: BatchRows): void {
    this.#outdateAll(batch);
    this.#cache.committed(batch, events, (index) => put[index]?.[9].length ?? 0);
  }

  clear(): void {
    for (const id of this.#readings.keys()) this.#outdate(id);
    this.#cache.clear();
  }

  #begin(id: string): Reading {
    const reading = { isOld: false };
    const all = this.#readings.get(id) ?? new Set();
    this.#readings.set(id, all.add(reading));
    return reading;
  }

  #end(id: string, reading: Reading): void {
    const all = this.#readings.get(id);
    all?.delete(reading);
    if (all?.size === 0) this.#readings.delete(id);
  }

  #outdateAll({ put, trim }: Batch): void {
    for (const { id } of put) this.#outdate(id);
    for (const { id } of trim?.documents ?? []) this.#outdate(id);
  }

  #outdate(id: string): void {
    for (const reading of this.#readings.get(id) ?? []) reading.isOld = true;
  }
}
