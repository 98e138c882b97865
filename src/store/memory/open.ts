/**
 * A store in memory: the whole port, no files and no threads, for tests of agents. Like the one on disk it commits in groups at the end
 * of a turn of the event loop, so that what only works when commits take no time is found here.
 */

import { createHash } from "node:crypto";
import { Ahead } from "../ahead.ts";
import { heldBlob } from "../held-blob.ts";
import {
  type Batch,
  BlobTooLarge,
  type CommitListener,
  type OnceRecord,
  type StagedBlob,
  type StoredDocument,
  type StoredEvent,
  StoreUnavailable,
  type TenantStore,
} from "../port.ts";
import { ofTenant, tenantViews, type WholeStore } from "../whole-store.ts";
import { MemoryContents } from "./contents.ts";
import { compare, due, events, isListedIn, list, ranked, shown } from "./queries.ts";
import { search } from "./search.ts";

interface Waiting {
  batch: Batch;
  resolve(events: StoredEvent[]): void;
  reject(error: unknown): void;
}

/** Stores that are opened one after the other on the same contents go on where the one before was. */
export function createMemoryStore(contents = new MemoryContents()): WholeStore {
  const { documents, log, blobs, once } = contents;
  const listeners = new Set<CommitListener>();
  const ahead = new Ahead();
  /** How many uploads of some content were kept and have not been let go of. */
  const wanted = new Map<string, number>();
  let waiting: Waiting[] = [];
  let isClosed = false;

  function writeGroup(): void {
    const group = waiting;
    waiting = [];
    const written: StoredEvent[] = [];
    const tell = group.map(({ batch, resolve, reject }) => {
      ahead.drop(batch);
      try {
        const committed = contents.write(batch);
        written.push(...committed);
        return () => resolve(committed);
      } catch (error) {
        return () => reject(error);
      }
    });
    // Followers hear of it before those who committed it, so that nobody can act on it out of order.
    if (written.length > 0) for (const listener of listeners) listener(written);
    for (const settle of tell) settle();
  }

  function read(kind: string, id: string): StoredDocument | undefined {
    const document = documents.get(id);
    return document?.kind === kind ? shown(document) : undefined;
  }

  const viewOf = (tenantId: string): TenantStore => ({
    tenantId,
    get: async (kind, id) => ofTenant(tenantId, read(kind, id)),
    getMany: async (keys) => keys.map(({ kind, id }) => ofTenant(tenantId, read(kind, id))),
    // Like a store of which nothing is in memory.
    known: () => undefined,
    proposed(kind, id) {
      const document = ahead.document(id);
      return document?.kind === kind ? ofTenant(tenantId, document) : undefined;
    },
    proposedEvents: (id) => ahead.events(id)?.filter((event) => event.tenantId === tenantId),
    list: async (query) => list(documents.values(), query, tenantId),
    ranked: async (query) => ranked(documents.values(), query, tenantId),
    search: async (query) => search(documents.values(), query, tenantId),
    count: async (kind) =>
      [...documents.values()].filter((found) => found.kind === kind && found.tenantId === tenantId).length,
    events: async (query) => events(log, query, tenantId),
    storedBytes: async () => contents.bytesOf(tenantId),
    blob: async (sha256) => contents.blobOf(tenantId, sha256),
    async openBlob(sha256) {
      const bytes = contents.blobOf(tenantId, sha256);
      if (bytes === undefined) return undefined;
      return heldBlob(bytes);
    },
  });

  return {
    of: tenantViews(viewOf),
    commit(given) {
      if (isClosed) return Promise.reject(new StoreUnavailable("The store is closed"));
      return new Promise((resolve, reject) => {
        const batch = copyOf(given);
        ahead.add(batch);
        waiting.push({ batch, resolve, reject });
        if (waiting.length === 1) setImmediate(writeGroup);
      });
    },
    get: async (kind, id) => read(kind, id),
    list: async (query) => list(documents.values(), query, null),
    due: async (query) => due(documents.values(), query),
    documents: async ({ afterId, limit }) =>
      [...documents.values()]
        .filter(({ id }) => id > afterId)
        .sort((a, b) => compare(a.id, b.id))
        .slice(0, limit)
        .map(shown),
    tenantIds: async () =>
      [...documents.values()]
        .filter(({ kind, index }) => kind === "tenant" && isListedIn(index, index.tenantId))
        .map(({ id }) => id),
    events: async (query) => events(log, query, null),
    async stageBlob(source, bytesMax) {
      const bytes = await collect(source, bytesMax);
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      return staged(sha256, bytes);
    },
    once: async (key) => once.get(key),
    onceWith: async ({ text, afterKey, limit }) =>
      [...once.values()]
        .filter(({ key, result }) => key > afterKey && result.includes(text))
        .sort((a, b) => compare(a.key, b.key))
        .slice(0, limit),
    async dropBlobs({ sha256s, scannedThrough }) {
      const later = log.slice(scannedThrough).map((event) => JSON.stringify(event) ?? "");
      const kept = sha256s.filter((sha256) => later.some((text) => text.includes(sha256)));
      const going = sha256s.filter((sha256) => !kept.includes(sha256) && !wanted.has(sha256));
      const sizes = going.flatMap((sha256) => blobs.get(sha256)?.length ?? []);
      for (const sha256 of going) contents.dropBlob(sha256);
      return { kept, count: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
    },
    // What is replaced or dropped here is gone at once.
    async scrub() {},
    async forgetOnce(before) {
      const expired = [...once.values()].filter(({ expiresAt }: OnceRecord) => expiresAt < before);
      for (const { key } of expired) once.delete(key);
      return expired.length;
    },
    head: async () => contents.head,
    cursor: async (name) => contents.cursors.get(name) ?? 0,
    writeFault: () => (isClosed ? "closed" : null),
    readFault: () => null,
    shortage: () => null,
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      isClosed = true;
      listeners.clear();
      while (waiting.length > 0) await new Promise((resolve) => setImmediate(resolve));
    },
  };

  function staged(sha256: string, bytes: Uint8Array): StagedBlob {
    let isKept = false;
    const want = (more: 1 | -1) => {
      const count = (wanted.get(sha256) ?? 0) + more;
      if (count > 0) wanted.set(sha256, count);
      else wanted.delete(sha256);
    };
    return {
      sha256,
      bytes: bytes.length,
      async keep() {
        if (isKept) return;
        isKept = true;
        want(1);
        blobs.set(sha256, bytes);
      },
      async discard() {
        if (isKept) want(-1);
        isKept = false;
      },
    };
  }
}

async function collect(source: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new BlobTooLarge(`More than ${bytesMax} bytes arrived`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** What goes in is what would come back from a disk, and is nobody else's to change. */
function copyOf({ blobs, ...rest }: Batch): Batch {
  return { ...JSON.parse(JSON.stringify(rest)), blobs };
}
