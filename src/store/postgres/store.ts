/** The port, made of what reads, commits, keeps content and follows the log. */

import type { CommitQueue } from "../commit-queue.ts";
import type { EventQuery, StoredDocument, StoredEvent, TenantStore } from "../port.ts";
import { ofTenant, tenantViews, type WholeStore } from "../whole-store.ts";
import type { CachedDocuments } from "./cached-documents.ts";
import { isAway } from "./connect.ts";
import type { Contents } from "./contents.ts";
import * as log from "./log-statements.ts";
import type { LogTail } from "./log-tail.ts";
import type { ReadPool } from "./read-pool.ts";
import type { Reader } from "./reader.ts";

export interface StoreParts {
  reader: Reader;
  contents: Contents;
  tail: LogTail;
  queue: CommitQueue;
  pool: ReadPool;
  /** Null when others write, too. */
  cache: CachedDocuments | null;
  close(): Promise<void>;
}

interface Key {
  kind: string;
  id: string;
}

export function storeOf(parts: StoreParts): WholeStore {
  const { reader, contents, tail, queue, pool, cache } = parts;
  const read = (tenantId: string | null, keys: readonly Key[]) => readDocuments(parts, tenantId, keys);
  const readOne = async (tenantId: string | null, key: Key) => (await read(tenantId, [key]))[0];
  const events = (tenantId: string | null, query: EventQuery) => readEvents(parts, tenantId, query);
  const viewOf = (tenantId: string): TenantStore => ({
    tenantId,
    get: (kind, id) => readOne(tenantId, { kind, id }),
    getMany: (keys) => read(tenantId, keys),
    known: (kind, id) => ofTenant(tenantId, cache?.get(kind, id)),
    proposed(kind, id) {
      const document = queue.ahead.document(id);
      return document?.kind === kind ? ofTenant(tenantId, document) : undefined;
    },
    proposedEvents: (id) => queue.ahead.events(id)?.filter((event) => event.tenantId === tenantId),
    list: (query) => reader.list(tenantId, query),
    ranked: (query) => reader.ranked(tenantId, query),
    search: (query) => reader.search(tenantId, query),
    count: (kind) => reader.count(tenantId, kind),
    events: (query) => events(tenantId, query),
    storedBytes: () => reader.storedBytes(tenantId),
    blob: (sha256) => contents.blob(tenantId, sha256),
    openBlob: (sha256) => contents.open(tenantId, sha256),
  });
  return {
    of: tenantViews(viewOf),
    commit: (batch) => queue.commit(batch),
    get: (kind, id) => readOne(null, { kind, id }),
    list: (query) => reader.list(null, query),
    due: (query) => reader.due(query),
    documents: (query) => reader.documents(query),
    cursor: (name) => reader.cursor(name),
    tenantIds: () => reader.tenantIds(),
    events: (query) => events(null, query),
    stageBlob: (source, bytesMax) => contents.stage(source, bytesMax),
    once: (key) => reader.once(key),
    onceWith: (query) => reader.onceWith(query),
    async forgetOnce(before) {
      queue.assertOpen();
      return await pool.change(log.forgetOnce(before));
    },
    async dropBlobs({ sha256s, scannedThrough }) {
      queue.assertOpen();
      return await contents.drop(sha256s, scannedThrough);
    },
    async scrub() {
      queue.assertOpen();
      await pool.outside(async (client) => {
        await client.query("VACUUM log, documents, texts, once, blobs, parts");
      });
    },
    head: async () => tail.told,
    writeFault: () => queue.writeFault,
    readFault: () => (isAway(queue.writeFault) ? queue.writeFault : null),
    // The disk is the database's.
    shortage: () => null,
    follow: (listener) => tail.follow(listener),
    close: parts.close,
  };
}

/** In the order of the keys. */
async function readDocuments(
  { reader, cache }: StoreParts,
  tenantId: string | null,
  keys: readonly Key[],
): Promise<(StoredDocument | undefined)[]> {
  const known = new Map<string, StoredDocument>();
  const wanted = new Set<string>();
  for (const { kind, id } of keys) {
    const document = cache?.get(kind, id);
    if (document === undefined) wanted.add(id);
    else known.set(id, document);
  }
  if (wanted.size > 0) {
    const ids = [...wanted];
    const readNow = () => reader.get(tenantId, ids);
    const found = cache === null ? byId(await readNow()) : await cache.reading(ids, readNow);
    for (const [id, document] of found) known.set(id, document);
  }
  return keys.map(({ kind, id }) => {
    const document = known.get(id);
    if (document?.kind !== kind) return undefined;
    return tenantId === null ? document : ofTenant(tenantId, document);
  });
}

function byId(found: readonly { document: StoredDocument }[]): Map<string, StoredDocument> {
  return new Map(found.map(({ document }) => [document.id, document]));
}

/** Whoever is shown an event finds that those who follow the log here have heard of it, and in memory what it changed. */
async function readEvents(
  { reader, tail, cache }: StoreParts,
  tenantId: string | null,
  query: EventQuery,
): Promise<StoredEvent[]> {
  if (cache !== null) {
    const through = Math.min(query.through ?? tail.told, tail.told);
    return await reader.events(tenantId, { ...query, through });
  }
  const found = await reader.events(tenantId, query);
  await tail.tellUpTo(Math.max(0, found.at(0)?.position ?? 0, found.at(-1)?.position ?? 0));
  return found;
}
