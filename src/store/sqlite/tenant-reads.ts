/** What a connection reads for one tenant, and a store that only reads: for another thread, beside the one that writes. */

import { join } from "node:path";
import type { EventQuery, Store, StoredDocument, TenantStore } from "../port.ts";
import { ofTenant, tenantViews, type WholeReads } from "../whole-store.ts";
import { BlobFiles, type Blobs } from "./blob-files.ts";
import { Reader } from "./reader.ts";

export interface Reading {
  reader: Reader;
  blobs: Blobs;
  get(kind: string, id: string): Promise<StoredDocument | undefined>;
  /** A document as it is in memory, where that is newer. */
  cached(found: StoredDocument): StoredDocument;
  /** The part of the log that may be shown. */
  seen(query: EventQuery): EventQuery;
}

export function tenantReads({ reader, blobs, get, cached, seen }: Reading, tenantId: string): TenantStore {
  const getOwn = async (kind: string, id: string) => ofTenant(tenantId, await get(kind, id));
  return {
    tenantId,
    get: getOwn,
    getMany: async (keys) => await Promise.all(keys.map(({ kind, id }) => getOwn(kind, id))),
    known: () => undefined,
    proposed: () => undefined,
    proposedEvents: () => undefined,
    list: async (query) => reader.list(tenantId, query).map(cached),
    ranked: async (query) => reader.ranked(tenantId, query),
    search: async (query) =>
      reader.search(tenantId, query).map((found) => ({ ...cached(found), score: found.score })),
    count: async (kind) => reader.count(kind, tenantId),
    events: async (query) => reader.events(tenantId, seen(query)),
    storedBytes: async () => reader.storedBytes(tenantId),
    async blob(sha256) {
      if (!reader.hasBlob(tenantId, sha256)) return undefined;
      return reader.blob(sha256) ?? (await blobs.whole(sha256));
    },
    async openBlob(sha256) {
      if (!reader.hasBlob(tenantId, sha256)) return undefined;
      return reader.openBlob(sha256) ?? (await blobs.open(sha256));
    },
  };
}

export interface SqliteReads extends Pick<Store, "of">, Pick<WholeReads, "cursor" | "events"> {
  /** Reads of one moment, one after the other; nothing else is read meanwhile. */
  together<T>(read: () => Promise<T>): Promise<T>;
  close(): void;
}

/** What is read here was written a moment ago, and is read once. */
const cacheKiB = 4096;

/** Reads what is on disk. The database is open in this process already, on the thread that answers for it. */
export function openSqliteReads(directory: string): SqliteReads {
  const reader = new Reader(join(directory, "bridle.db"), cacheKiB);
  const reading: Reading = {
    reader,
    blobs: new BlobFiles(join(directory, "blobs")),
    get: async (kind, id) => reader.get(kind, id),
    cached: (found) => found,
    seen: (query) => query,
  };
  return {
    of: tenantViews((tenantId) => tenantReads(reading, tenantId)),
    cursor: async (name) => reader.cursor(name),
    events: async (query) => reader.events(null, query),
    together: (read) => reader.together(read),
    close: () => reader.close(),
  };
}
