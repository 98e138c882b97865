/** The SQLite store: a locked directory, one writer thread, one reader, and those who follow the log. */

import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type CommitObserver, CommitQueue, type CommitWatch } from "../commit-queue.ts";
import { DocumentCache } from "../document-cache.ts";
import type { CommitListener, EventQuery, Position, StoredDocument, TenantStore } from "../port.ts";
import { ofTenant, tenantViews, type WholeStore } from "../whole-store.ts";
import { BlobFiles } from "./blob-files.ts";
import { bytesOf, memberOf } from "./document-body.ts";
import { takeEpoch } from "./epoch.ts";
import { type DiskFloor, diskFloorDefault, FreeSpace } from "./free-space.ts";
import { lockDirectory } from "./lock.ts";
import { assertComplete, assertCopied, assertNotLost, openProblem } from "./open-problems.ts";
import { Reader } from "./reader.ts";
import { configure, migrate } from "./schema.ts";
import { tenantReads } from "./tenant-reads.ts";
import { writeFaultOf } from "./write-fault.ts";
import { WriterThread } from "./writer-thread.ts";

export async function openSqliteStore(
  directory: string,
  watch: CommitWatch = {},
  floor: DiskFloor = diskFloorDefault,
): Promise<WholeStore> {
  const file = join(directory, "bridle.db");
  const lock = lockFor(directory, file);
  const listeners = new Set<CommitListener>();
  try {
    assertNotLost(directory);
    // The log holds what people said: for its owner only. SQLite gives the files beside it the same mode.
    closeSync(openSync(file, "a", 0o600));
    chmodSync(file, 0o600);
    const cache = new DocumentCache();
    // Readers of the log are not shown what the writer has not told us of yet: whoever sees an event must find the
    // document that it changed.
    let told: Position = 0;
    const observer: CommitObserver = {
      committed: (batch, events, { put }) =>
        cache.committed(batch, events, (index) => bytesOf(put[index]?.[9] ?? "")),
      outcomeUnknown: () => cache.clear(),
      groupCommitted(events) {
        told = events.at(-1)?.position ?? told;
        for (const listener of listeners) listener(events);
      },
    };
    const space = new FreeSpace(directory, floor);
    const { reader, epoch } = openReader(file);
    const thread = new WriterThread({ file, epoch }, (reason, cause) => writer.stop(reason, cause));
    const writer = new CommitQueue({
      writer: thread,
      bodyText: (document, first) => memberOf(document, first) ?? JSON.stringify(document.body),
      observer,
      watch,
    });
    const blobFiles = await BlobFiles.open(join(directory, "blobs"));
    told = reader.head();
    const read = (kind: string, id: string) => cache.get(kind, id) ?? reader.get(kind, id, cache);
    const get = async (kind: string, id: string) => read(kind, id);
    const cached = (found: StoredDocument) => cache.get(found.kind, found.id) ?? found;
    const seen = (query: EventQuery) => ({ ...query, through: Math.min(query.through ?? told, told) });
    const reading = { reader, blobFiles, get, cached, seen };
    const viewOf = (tenantId: string): TenantStore => ({
      ...tenantReads(reading, tenantId),
      get: async (kind, id) => ofTenant(tenantId, read(kind, id)),
      getMany: async (keys) => keys.map(({ kind, id }) => ofTenant(tenantId, read(kind, id))),
      known: (kind, id) => ofTenant(tenantId, cache.get(kind, id)),
      proposed(kind, id) {
        const document = writer.ahead.document(id);
        return document?.kind === kind ? ofTenant(tenantId, document) : undefined;
      },
      proposedEvents: (id) => writer.ahead.events(id)?.filter((event) => event.tenantId === tenantId),
    });
    return {
      of: tenantViews(viewOf),
      commit: (batch) => writer.commit(batch),
      async forgetOnce(before) {
        writer.assertOpen();
        return await thread.forgetOnce(before);
      },
      get,
      list: async (query) => reader.list(null, query).map(cached),
      due: async (query) => reader.due(query),
      documents: async (query) => reader.documents(query),
      cursor: async (name) => reader.cursor(name),
      tenantIds: async () => reader.tenantIds(),
      events: async (query) => reader.events(null, seen(query)),
      stageBlob: (source, bytesMax) => blobFiles.stage(source, bytesMax),
      once: async (key) => reader.once(key),
      onceWith: async (query) => reader.onceWith(query),
      async dropBlobs({ sha256s, scannedThrough }) {
        writer.assertOpen();
        const { kept, count, bytes } = await thread.dropBlobs(sha256s, scannedThrough);
        const files = await blobFiles.remove(sha256s.filter((sha256) => !kept.includes(sha256)));
        return { kept, count: count + files.count, bytes: bytes + files.bytes };
      },
      async scrub() {
        writer.assertOpen();
        await thread.scrub();
      },
      head: async () => told,
      writeFault: () => writer.writeFault,
      readFault: () => null,
      shortage: () => space.shortage(),
      follow(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      async close() {
        listeners.clear();
        reader.close();
        await writer.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw openProblem(error, file);
  }
}

function lockFor(directory: string, file: string): { release(): void } {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return lockDirectory(directory);
  } catch (error) {
    throw openProblem(error, file);
  }
}

/** Brings the tables up to date; nobody is served yet. Another connection stays open until the reader has found the WAL. */
function openReader(file: string): { reader: Reader; epoch: number | null } {
  const db = new DatabaseSync(file);
  try {
    configure(db);
    migrate(db);
    assertComplete(db, file, migrate);
    assertCopied(db, file);
    return { epoch: epochIfWritable(db, file), reader: new Reader(file) };
  } finally {
    db.close();
  }
}

/** A server also starts on a disk that is full; the writer takes its epoch when there is room again. */
function epochIfWritable(db: DatabaseSync, file: string): number | null {
  try {
    return takeEpoch(db, null);
  } catch (error) {
    if (writeFaultOf(error, file) === null) throw error;
    return null;
  }
}
