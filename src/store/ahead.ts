/**
 * What batches on their way to the disk will create. Changes are not among it: two rivals can both be about to make version 6, and
 * whoever built on the one that fails would be taken for building on the other. Nobody else creates the same id.
 */

import type { Batch, NewEvent, StoredDocument } from "./port.ts";

export class Ahead {
  readonly #created = new Map<string, { document: StoredDocument; events: readonly NewEvent[] }>();

  add({ put, expect, events }: Batch): void {
    const created = new Set(expect.flatMap(({ id, version }) => (version === 0 ? [id] : [])));
    for (const { kind, id, index, body } of put) {
      if (!created.has(id)) continue;
      const document = { kind, id, tenantId: index.tenantId, version: 1, born: 0, body };
      this.#created.set(id, { document, events });
    }
  }

  /** The batch is on disk, or has failed. */
  drop({ put }: Batch): void {
    for (const { id } of put) this.#created.delete(id);
  }

  clear(): void {
    this.#created.clear();
  }

  document(id: string): StoredDocument | undefined {
    return this.#created.get(id)?.document;
  }

  /** The events that come with it. */
  events(id: string): readonly NewEvent[] | undefined {
    return this.#created.get(id)?.events;
  }
}
