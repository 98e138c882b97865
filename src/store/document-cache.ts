/**
 * Documents as they are on disk, kept in memory: the directory is locked, so this process alone changes them, and the
 * cache hears of every commit before anybody else does. Bounded by the size of what it holds.
 *
 * A body is shared with whoever asks for it and is never changed in place; a change is a new body in a new commit.
 */

import { Generations } from "./generations.ts";
import type { Batch, StoredDocument, StoredEvent } from "./port.ts";

/** What one generation of documents takes as JSON; there are two. On the heap it is three to four times as much. */
const bytesMax = 8 * 1024 * 1024;
/** A rough price for what an entry costs beside its body. */
const entryBytes = 400;

export class DocumentCache {
  readonly #documents = new Generations<StoredDocument>(bytesMax);

  get(kind: string, id: string): StoredDocument | undefined {
    const document = this.#documents.get(id);
    return document?.kind === kind ? document : undefined;
  }

  /** An older version never replaces a newer one: a read can be ahead of the news of a commit. */
  keep(document: StoredDocument, bodyBytes: number): void {
    const known = this.#documents.get(document.id);
    if (known !== undefined && known.version > document.version) return;
    this.#documents.set(document.id, document, bodyBytes + entryBytes);
  }

  clear(): void {
    this.#documents.clear();
  }

  /** A commit has put or removed these; what became of them is read again. */
  forget({ put, trim }: Batch): void {
    for (const { id } of put) this.#documents.delete(id);
    for (const { id } of trim?.documents ?? []) this.#documents.delete(id);
  }

  /** What a commit made of the documents it put or removed. */
  committed(batch: Batch, events: readonly StoredEvent[], bodyBytes: (index: number) => number): void {
    for (const { id } of batch.trim?.documents ?? []) this.#documents.delete(id);
    const bornAt = new Map(events.toReversed().map(({ resource, position }) => [resource.id, position]));
    const versions = new Map(batch.expect.map(({ id, version }) => [id, version]));
    for (const [
      index,
      {
        kind,
        id,
        index: { tenantId },
        body,
      },
    ] of batch.put.entries()) {
      const expected = versions.get(id);
      const born = expected === 0 ? (bornAt.get(id) ?? events[0]?.position) : this.#documents.get(id)?.born;
      if (expected === undefined || born === undefined) this.#documents.delete(id);
      else this.keep({ kind, id, tenantId, version: expected + 1, born, body }, bodyBytes(index));
    }
  }
}
