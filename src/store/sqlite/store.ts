/** The port over SQLite: one reader, one writer, content beside the database, and those who follow the log. */

import type { Ahead } from "../ahead.ts";
import type { Dropped } from "../batch-rows.ts";
import { type CommitObserver, CommitQueue, type CommitWatch, type GroupWriter } from "../commit-queue.ts";
import { DocumentCache } from "../document-cache.ts";
import type { CommitListener, EventQuery, Position, Shortage, StoredDocument, TenantStore } from "../port.ts";
import { ofTenant, tenantViews, type WholeStore } from "../whole-store.ts";
import type { Blobs } from "./blob-files.ts";
import { bytesOf, memberOf } from "./document-body.ts";
import type { Reader } from "./reader.ts";
import { type Reading, tenantReads } from "./tenant-reads.ts";

/** The connection that writes, on whichever thread it is. */
export interface SqliteWriter extends GroupWriter {
  forgetOnce(before: number): Promise<number>;
  dropBlobs(sha256s: string[], scannedThrough: Position): Promise<Dropped>;
  scrub(): Promise<void>;
}

/** Called once the writer takes no commits any more. */
export type WriterStopped = (reason: string, cause?: unknown) => void;

export interface SqliteParts {
  reader: Reader;
  openWriter(onStopped: WriterStopped): SqliteWriter;
  blobs: Blobs;
  watch: CommitWatch;
  shortage(): Shortage | null;
  /** The last thing that is done when the store is closed. */
  release(): void;
}

export function sqliteStore({
  reader,
  openWriter,
  blobs,
  watch,
  shortage,
  release,
}: SqliteParts): WholeStore {
  const listeners = new Set<CommitListener>();
  const cache = new DocumentCache();
  // Readers of the log are not shown what the writer has not told us of yet: whoever sees an event must find the
  // document that it changed.
  let told: Position = reader.head();
  const observer: CommitObserver = {
    committed: (batch, events, { put }) =>
      cache.committed(batch, events, (index) => bytesOf(put[index]?.[9] ?? "")),
    committedLarge: (batch) => cache.forget(batch),
    outcomeUnknown: () => cache.clear(),
    groupCommitted(events) {
      told = events.at(-1)?.position ?? told;
      for (const listener of listeners) listener(events);
    },
  };
  const writer = openWriter((reason, cause) => queue.stop(reason, cause));
  const queue = new CommitQueue({
    writer,
    bodyText: (document, first) => memberOf(document, first) ?? JSON.stringify(document.body),
    observer,
    watch,
  });
  const read = (kind: string, id: string) => cache.get(kind, id) ?? reader.get(kind, id, cache);
  const get = async (kind: string, id: string) => read(kind, id);
  const cached = (found: StoredDocument) => cache.get(found.kind, found.id) ?? found;
  const seen = (query: EventQuery) => ({ ...query, through: Math.min(query.through ?? told, told) });
  const reading = { reader, blobs, get, cached, seen };
  const viewOf = (tenantId: string) => tenantView(tenantId, { reading, read, cache, ahead: queue.ahead });
  return {
    of: tenantViews(viewOf),
    commit: (batch) => queue.commit(batch),
    async forgetOnce(before) {
      queue.assertOpen();
      return await writer.forgetOnce(before);
    },
    get,
    list: async (query) => reader.list(null, query).map(cached),
    due: async (query) => reader.due(query),
    documents: async (query) => reader.documents(query),
    cursor: async (name) => reader.cursor(name),
    tenantIds: async () => reader.tenantIds(),
    events: async (query) => reader.events(null, seen(query)),
    stageBlob: (source, bytesMax) => blobs.stage(source, bytesMax),
    once: async (key) => reader.once(key),
    onceWith: async (query) => reader.onceWith(query),
    async dropBlobs({ sha256s, scannedThrough }) {
      queue.assertOpen();
      const { kept, count, bytes } = await writer.dropBlobs(sha256s, scannedThrough);
      const files = await blobs.remove(sha256s.filter((sha256) => !kept.includes(sha256)));
      return { kept, count: count + files.count, bytes: bytes + files.bytes };
    },
    async scrub() {
      queue.assertOpen();
      await writer.scrub();
    },
    head: async () => told,
    writeFault: () => queue.writeFault,
    readFault: () => null,
    shortage,
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      listeners.clear();
      reader.close();
      await queue.close();
      release();
    },
  };
}

interface ViewParts {
  reading: Reading;
  read(kind: string, id: string): StoredDocument | undefined;
  cache: DocumentCache;
  ahead: Ahead;
}

/** What one tenant sees: what is on disk, and what is on its way there. */
function tenantView(tenantId: string, { reading, read, cache, ahead }: ViewParts): TenantStore {
  return {
    ...tenantReads(reading, tenantId),
    get: async (kind, id) => ofTenant(tenantId, read(kind, id)),
    getMany: async (keys) => keys.map(({ kind, id }) => ofTenant(tenantId, read(kind, id))),
    known: (kind, id) => ofTenant(tenantId, cache.get(kind, id)),
    proposed(kind, id) {
      const document = ahead.document(id);
      return document?.kind === kind ? ofTenant(tenantId, document) : undefined;
    },
    proposedEvents: (id) => ahead.events(id)?.filter((event) => event.tenantId === tenantId),
  };
}
