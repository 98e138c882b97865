/**
 * Documents as they are on disk, kept in memory: the directory is locked, so this process alone changes them, and the
 * cache hears of every commit before anybody else does. Bounded by the size of what it holds.
 *
 * A body is shared with whoever asks for it and is never changed in place; a change is a new body in a new commit.
 */

import type { Batch, StoredDocument, StoredEvent } from "../port.ts";

/** What one generation may hold; there are two. */
const generationBytesMax = 32 * 1024 * 1024;
/** A rough price for what an entry costs beside its body. */
const entryBytes = 400;

export class DocumentCache {
  /** When the young generation is full it becomes the old one, and what nobody asked for in the meantime is gone. */
  #young = new Map<string, StoredDocument>();
  #old = new Map<string, StoredDocument>();
  #youngBytes = 0;

  get(kind: string, id: string): StoredDocument | undefined {
    const document = this.#find(id);
    return document?.kind === kind ? document : undefined;
  }

  /** An older version never replaces a newer one: a read can be ahead of the news of a commit. */
  keep(document: StoredDocument, bodyBytes: number): void {
    if ((this.#young.get(document.id)?.version ?? 0) > document.version) return;
    this.#young.set(document.id, document);
    this.#youngBytes += bodyBytes + entryBytes;
    if (this.#youngBytes <= generationBytesMax) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }

  /** What a commit made of the documents it put. */
  committed(batch: Batch, events: readonly StoredEvent[], bodyBytes: (index: number) => number): void {
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
      const born = expected === 0 ? bornAt(id, events) : this.#find(id)?.born;
      if (expected === undefined || born === undefined) this.#drop(id);
      else this.keep({ kind, id, tenantId, version: expected + 1, born, body }, bodyBytes(index));
    }
  }

  #find(id: string): StoredDocument | undefined {
    const young = this.#young.get(id);
    if (young !== undefined) return young;
    const old = this.#old.get(id);
    // Its size is not known any more; a typical one keeps the count honest enough.
    if (old !== undefined) this.keep(old, entryBytes);
    return old;
  }

  #drop(id: string): void {
    this.#young.delete(id);
    this.#old.delete(id);
  }
}

function bornAt(id: string, events: readonly StoredEvent[]): number | undefined {
  return (events.find((event) => event.resource.id === id) ?? events[0])?.position;
}
