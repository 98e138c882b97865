/** Reads, as documents, events and records. */

import { type Row, toEvents } from "../log-rows.ts";
import type {
  DocumentQuery,
  EventQuery,
  FoundDocument,
  OnceRecord,
  Position,
  RankedDocuments,
  RankedQuery,
  SearchQuery,
  StoredDocument,
  StoredEvent,
} from "../port.ts";
import type { DueQuery } from "../whole-store.ts";
import type { ReadDocument } from "./cached-documents.ts";
import * as documents from "./document-statements.ts";
import * as log from "./log-statements.ts";
import type { ReadPool } from "./read-pool.ts";

/** What damage is reported of. */
const where = "The database";

export class Reader {
  readonly #pool: ReadPool;

  constructor(pool: ReadPool) {
    this.#pool = pool;
  }

  /** Those that there are, in any order. */
  async get(tenantId: string | null, ids: readonly string[]): Promise<ReadDocument[]> {
    const rows = await this.#pool.read(tenantId, documents.getDocuments(tenantId, ids));
    return rows.map((row) => ({ document: toDocument(row), bytes: String(row.body).length }));
  }

  async list(tenantId: string | null, query: DocumentQuery): Promise<StoredDocument[]> {
    const rows = await this.#pool.read(tenantId, documents.listDocuments(tenantId, query));
    return rows.map(toDocument);
  }

  async ranked(tenantId: string, query: RankedQuery): Promise<RankedDocuments> {
    const [rows, counted] = await Promise.all([
      this.#pool.read(tenantId, documents.rankedDocuments(tenantId, query)),
      this.#pool.read(tenantId, documents.countRanked(tenantId, query)),
    ]);
    const found = rows.map((row) => ({ ...toDocument(row), rank: Number(row.rank) }));
    return { documents: found, total: numberIn(counted, "n") };
  }

  async search(tenantId: string, query: SearchQuery): Promise<FoundDocument[]> {
    const statement = documents.searchDocuments(tenantId, query);
    if (statement === null) return [];
    const rows = await this.#pool.read(tenantId, statement);
    return rows.map((row) => ({ ...toDocument(row), score: Number(row.score) }));
  }

  async count(tenantId: string, kind: string): Promise<number> {
    return numberIn(await this.#pool.read(tenantId, documents.countDocuments(tenantId, kind)), "n");
  }

  async due(query: DueQuery): Promise<{ id: string; wakeAt: number }[]> {
    const rows = await this.#pool.read(null, documents.dueDocuments(query));
    return rows.map((row) => ({ id: String(row.id), wakeAt: Number(row.wake_at) }));
  }

  async documents(query: { afterId: string; limit: number }): Promise<StoredDocument[]> {
    return (await this.#pool.read(null, documents.everyDocument(query))).map(toDocument);
  }

  async tenantIds(): Promise<string[]> {
    return (await this.#pool.read(null, documents.tenantIds)).map(({ id }) => String(id));
  }

  async events(tenantId: string | null, query: EventQuery): Promise<StoredEvent[]> {
    const rows = await this.#pool.read(tenantId, log.logRows(tenantId, query));
    const through = query.through ?? Number.POSITIVE_INFINITY;
    const found: StoredEvent[] = [];
    for (const row of rows) {
      const events = query.newestFirst ? toEvents(row, where).reverse() : toEvents(row, where);
      for (const event of events) {
        if (found.length === query.limit) return found;
        if (event.position > query.after && event.position <= through) found.push(event);
      }
    }
    return found;
  }

  async storedBytes(tenantId: string): Promise<{ log: number; blobs: number }> {
    const rows = await this.#pool.read(tenantId, log.storedBytes(tenantId));
    return { log: numberIn(rows, "log"), blobs: numberIn(rows, "blobs") };
  }

  async once(key: string): Promise<OnceRecord | undefined> {
    return (await this.#pool.read(null, log.onceRecord(key))).map(toOnceRecord)[0];
  }

  async onceWith(query: { text: string; afterKey: string; limit: number }): Promise<OnceRecord[]> {
    return (await this.#pool.read(null, log.onceRecordsWith(query))).map(toOnceRecord);
  }

  async cursor(name: string): Promise<Position> {
    return numberIn(await this.#pool.read(null, log.cursorOf(name)), "position");
  }

  async head(): Promise<Position> {
    return numberIn(await this.#pool.read(null, log.head), "position");
  }
}

function numberIn([row]: readonly Row[], column: string): number {
  return Number(row?.[column] ?? 0);
}

function toDocument(row: Row): StoredDocument {
  return {
    kind: String(row.kind),
    id: String(row.id),
    tenantId: String(row.tenant_id),
    version: Number(row.version),
    born: Number(row.born),
    body: JSON.parse(String(row.body)),
  };
}

function toOnceRecord(row: Row): OnceRecord {
  return {
    key: String(row.key),
    fingerprint: String(row.fingerprint),
    result: String(row.result),
    position: row.position === null || row.position === undefined ? null : Number(row.position),
    expiresAt: Number(row.expires_at),
  };
}
