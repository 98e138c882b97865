/** Reads: a connection of its own, which sees every commit that is on disk. */

import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { checkedBlob } from "../checked-blob.ts";
import type { DocumentCache } from "../document-cache.ts";
import { heldBlob } from "../held-blob.ts";
import { type Row, toEvents } from "../log-rows.ts";
import type {
  DocumentQuery,
  EventQuery,
  FoundDocument,
  OnceRecord,
  OpenBlob,
  Position,
  RankedDocuments,
  RankedQuery,
  SearchQuery,
  StoredDocument,
  StoredEvent,
} from "../port.ts";
import type { DueQuery } from "../whole-store.ts";
import { bytesOf, DocumentBodies } from "./document-body.ts";

export class Reader {
  readonly #file: string;
  readonly #db: DatabaseSync;
  readonly #bodies: DocumentBodies;
  /** The queries below have a bounded number of shapes, so the prepared statements are kept for good. */
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string, cacheKiB = 32_768) {
    this.#file = file;
    this.#db = new DatabaseSync(file, { readOnly: true });
    this.#db.exec("PRAGMA busy_timeout = 5000");
    this.#db.exec(`PRAGMA cache_size = -${cacheKiB}`);
    this.#bodies = new DocumentBodies(this.#db);
  }

  close(): void {
    this.#db.close();
  }

  /** Reads of one moment. Pages are kept from one to the next, which they are not when something is committed in between. */
  async together<T>(read: () => Promise<T>): Promise<T> {
    this.#db.exec("BEGIN");
    try {
      return await read();
    } finally {
      this.#db.exec("COMMIT");
    }
  }

  /** What is read is kept in the cache, if there is one. */
  get(kind: string, id: string, cache?: DocumentCache): StoredDocument | undefined {
    return this.#atOneMoment(() => {
      const row = this.#prepare(
        "SELECT id, kind, tenant_id, version, born, body FROM documents WHERE id = ? AND kind = ?",
      ).get(id, kind);
      if (row === undefined) return undefined;
      const document = this.#document(row);
      cache?.keep(document, bytesOf(String(row.body)));
      return document;
    });
  }

  /** Of one tenant, or of all. */
  list(tenantId: string | null, query: DocumentQuery): StoredDocument[] {
    const newest = query.order === "newest_first";
    const where = ["kind = ?"];
    const values: SQLInputValue[] = [query.kind];
    const index = indexColumn(query.by) ?? (tenantId === null ? null : (["listed_in", tenantId] as const));
    if (index === null) where.push("listed_in IS NOT NULL");
    else {
      where.push(`${index[0]} = ?`);
      values.push(index[1]);
    }
    if (tenantId !== null) {
      // Read from the row: the narrower index serves.
      where.push("+tenant_id = ?");
      values.push(tenantId);
    }
    if (query.workspaceIds !== undefined) {
      // What belongs to no workspace belongs to the whole tenant.
      where.push("(workspace_id IS NULL OR workspace_id IN (SELECT value FROM json_each(?)))");
      values.push(JSON.stringify(query.workspaceIds));
    }
    if (query.statuses !== undefined) {
      where.push("status IN (SELECT value FROM json_each(?))");
      values.push(JSON.stringify(query.statuses));
    }
    if (query.beyond !== undefined) {
      where.push(`(born, id) ${newest ? "<" : ">"} (?, ?)`);
      values.push(query.beyond.born, query.beyond.id);
    }
    if (query.bornAfter !== undefined) {
      where.push("born > ?");
      values.push(query.bornAfter);
    }
    if (query.bornThrough !== undefined) {
      where.push("born <= ?");
      values.push(query.bornThrough);
    }
    const direction = newest ? "DESC" : "ASC";
    const sql = `SELECT id, kind, tenant_id, version, born, body FROM documents
      WHERE ${where.join(" AND ")} ORDER BY born ${direction}, id ${direction} LIMIT ?`;
    return this.#documents(sql, ...values, query.limit);
  }

  ranked(tenantId: string, query: RankedQuery): RankedDocuments {
    const where = ["kind = ?", "listed_in = ?", "rank IS NOT NULL"];
    const values: SQLInputValue[] = [query.kind, tenantId];
    const narrow = (condition: string, value: SQLInputValue | undefined) => {
      if (value === undefined) return;
      where.push(condition);
      values.push(value);
    };
    narrow("session_id = ?", query.sessionId);
    narrow("label = ?", query.label);
    const index = rankedIndex(query);
    const statuses = query.statuses ?? this.#statusesIn(index, where, values);
    narrow("rank >= ?", query.rankFrom);
    if (query.workspaceIds !== undefined)
      narrow("workspace_id IN (SELECT value FROM json_each(?))", JSON.stringify(query.workspaceIds));
    const from = `FROM documents INDEXED BY ${index} WHERE ${where.join(" AND ")} AND status IS ?`;
    const beyond = query.beyond === undefined ? "" : "AND (rank, id) < (?, ?)";
    const after = query.beyond === undefined ? [] : [query.beyond.rank, query.beyond.id];
    const count = this.#prepare(`SELECT count(*) AS n ${from}`);
    const page = this.#prepare(`SELECT id, rank ${from} ${beyond} ORDER BY rank DESC, id DESC LIMIT ?`);
    // The index is in order for each status; the lists of all of them are merged.
    const found = statuses
      .flatMap((status) => page.all(...values, status, ...after, query.limit))
      .map(({ id, rank }) => ({ id: String(id), rank: Number(rank) }))
      .sort((a, b) => b.rank - a.rank || (a.id < b.id ? 1 : -1))
      .slice(0, query.limit);
    const total = statuses.reduce((sum, status) => sum + Number(count.get(...values, status)?.n ?? 0), 0);
    const read = this.#prepare("SELECT id, kind, tenant_id, version, born, body FROM documents WHERE id = ?");
    const documents = this.#atOneMoment(() =>
      found.flatMap(({ id, rank }) => {
        const row = read.get(id);
        return row === undefined ? [] : [{ ...this.#document(row), rank }];
      }),
    );
    return { documents, total };
  }

  /** The statuses that there are, each found by one step in the index. */
  #statusesIn(index: string, where: string[], values: SQLInputValue[]): (string | null)[] {
    const from = `FROM documents INDEXED BY ${index} WHERE ${where.join(" AND ")}`;
    const next = this.#prepare(`SELECT min(status) AS status ${from} AND status > ?`);
    const statuses: (string | null)[] = [null];
    for (let last = ""; ; ) {
      const status = next.get(...values, last)?.status;
      if (typeof status !== "string") return statuses;
      statuses.push(status);
      last = status;
    }
  }

  /** The words were indexed under the position that their document was born at. */
  search(tenantId: string, query: SearchQuery): FoundDocument[] {
    const words = matchOf(query.text);
    if (words === "") return [];
    const where = ["texts MATCH ?", "kind = ?", "listed_in = ?"];
    const values: SQLInputValue[] = [words, query.kind, tenantId];
    if (query.workspaceIds !== undefined) {
      where.push("(workspace_id IS NULL OR workspace_id IN (SELECT value FROM json_each(?)))");
      values.push(JSON.stringify(query.workspaceIds));
    }
    for (const [column, allowed] of [
      ["id", query.ids],
      ["owner_id", query.ownerIds],
      ["status", query.statuses],
    ] as const) {
      if (allowed === undefined) continue;
      where.push(`${column} IN (SELECT value FROM json_each(?))`);
      values.push(JSON.stringify(allowed));
    }
    const found = `SELECT id, kind, tenant_id, version, born, body, bm25(texts) AS score
      FROM texts JOIN documents ON documents.born = texts.rowid WHERE ${where.join(" AND ")}`;
    const beyond = query.beyond === undefined ? "" : "WHERE (score, id) > (?, ?)";
    if (query.beyond !== undefined) values.push(query.beyond.score, query.beyond.id);
    const sql = `SELECT * FROM (${found}) ${beyond} ORDER BY score, id LIMIT ?`;
    return this.#atOneMoment(() =>
      this.#prepare(sql)
        .all(...values, query.limit)
        .map((row) => ({ ...this.#document(row), score: Number(row.score) })),
    );
  }

  due(query: DueQuery): { id: string; wakeAt: number }[] {
    return this.#prepare(
      `SELECT id, wake_at FROM documents WHERE kind = ? AND (wake_at, id) > (?, ?) AND wake_at <= ?
       ORDER BY wake_at, id LIMIT ?`,
    )
      .all(query.kind, query.after.wakeAt, query.after.id, query.through, query.limit)
      .map((row) => ({ id: String(row.id), wakeAt: Number(row.wake_at) }));
  }

  count(kind: string, tenantId: string): number {
    const row = this.#prepare("SELECT count(*) AS n FROM documents WHERE kind = ? AND tenant_id = ?").get(
      kind,
      tenantId,
    );
    return Number(row?.n ?? 0);
  }

  documents({ afterId, limit }: { afterId: string; limit: number }): StoredDocument[] {
    const sql =
      "SELECT id, kind, tenant_id, version, born, body FROM documents WHERE id > ? ORDER BY id LIMIT ?";
    return this.#documents(sql, afterId, limit);
  }

  cursor(name: string): Position {
    return Number(this.#prepare("SELECT position FROM cursors WHERE name = ?").get(name)?.position ?? 0);
  }

  tenantIds(): string[] {
    return this.#prepare("SELECT id FROM documents WHERE kind = 'tenant' AND listed_in IS NOT NULL")
      .all()
      .map(({ id }) => String(id));
  }

  /** A row has at least one event, so as many rows as events are asked for are enough. */
  events(tenantId: string | null, query: EventQuery): StoredEvent[] {
    const rows = this.#logRows(tenantId, query);
    const through = query.through ?? Number.POSITIVE_INFINITY;
    const events: StoredEvent[] = [];
    let bytes = 0;
    // A row can hold many events: no more rows are parsed than are needed.
    for (const row of rows) {
      if (query.bytesMax !== undefined && bytes >= query.bytesMax && events.length > 0) return events;
      bytes += String(row.events).length;
      const found = query.newestFirst ? toEvents(row, this.#file).reverse() : toEvents(row, this.#file);
      for (const event of found) {
        if (event.position > query.after && event.position <= through) events.push(event);
        if (events.length === query.limit) return events;
      }
    }
    return events;
  }

  /** Which index serves is said, since the planner often prefers to walk the whole log in order. */
  #logRows(tenantId: string | null, query: EventQuery): Iterable<Row> {
    const { taskId, sessionId, workspaceIds, newestFirst = false, limit } = query;
    const where = ["last > ?"];
    const values: SQLInputValue[] = [query.after];
    const equal = { task_id: taskId, session_id: sessionId, tenant_id: tenantId };
    for (const [column, value] of Object.entries(equal)) {
      if (value == null) continue;
      where.push(`${column} = ?`);
      values.push(value);
    }
    if (query.through !== undefined) {
      where.push("first <= ?");
      values.push(query.through);
    }
    const order = `ORDER BY ${newestFirst ? "last DESC" : "last"} LIMIT ?`;
    const from = (index: string) => `FROM log ${index} WHERE ${where.join(" AND ")}`;
    const isNarrow = taskId !== undefined || sessionId !== undefined;
    if (workspaceIds === undefined || isNarrow) {
      const belongs = workspaceIds && "AND workspace_id IN (SELECT value FROM json_each(?))";
      const ids = workspaceIds === undefined ? [] : [JSON.stringify(workspaceIds)];
      const sql = `SELECT * ${from(logIndex(tenantId, query))} ${belongs ?? ""} ${order}`;
      return this.#prepare(sql).iterate(...values, ...ids, limit);
    }
    // The index is in order for each workspace; the lists of all of them are merged.
    const places = this.#prepare(
      `SELECT last ${from("INDEXED BY log_by_workspace")} AND workspace_id = ? ${order}`,
    );
    const found = workspaceIds.flatMap((id) =>
      places.all(...values, id, limit).map(({ last }) => Number(last)),
    );
    found.sort((a, b) => (newestFirst ? b - a : a - b));
    return this.#rowsAt(found.slice(0, limit));
  }

  *#rowsAt(positions: readonly Position[]): Generator<Row> {
    const read = this.#prepare("SELECT * FROM log WHERE last = ?");
    for (const position of positions) {
      const row = read.get(position);
      if (row !== undefined) yield row;
    }
  }

  /** Whether content is the tenant's, too. */
  hasBlob(tenantId: string, sha256: string): boolean {
    const sql = "SELECT 1 FROM blob_owners WHERE sha256 = ? AND tenant_id = ?";
    return this.#prepare(sql).get(sha256, tenantId) !== undefined;
  }

  storedBytes(tenantId: string): { log: number; blobs: number } {
    const row = this.#prepare("SELECT log, blobs FROM tenant_bytes WHERE tenant_id = ?").get(tenantId);
    return { log: Number(row?.log ?? 0), blobs: Number(row?.blobs ?? 0) };
  }

  blob(sha256: string): Uint8Array | undefined {
    const bytes = this.#prepare("SELECT bytes FROM blobs WHERE sha256 = ?").get(sha256)?.bytes;
    return bytes instanceof Uint8Array ? checkedBlob(bytes, sha256, this.#file) : undefined;
  }

  /** What is in the database is small: it is checked as a whole. */
  openBlob(sha256: string): OpenBlob | undefined {
    const bytes = this.blob(sha256);
    if (bytes === undefined) return undefined;
    return heldBlob(bytes);
  }

  once(key: string): OnceRecord | undefined {
    const row = this.#prepare(
      "SELECT key, fingerprint, result, position, expires_at FROM once WHERE key = ?",
    ).get(key);
    return row === undefined ? undefined : toOnceRecord(row);
  }

  onceWith({ text, afterKey, limit }: { text: string; afterKey: string; limit: number }): OnceRecord[] {
    return this.#prepare(
      `SELECT key, fingerprint, result, position, expires_at FROM once
       WHERE key > ? AND instr(result, ?) > 0 ORDER BY key LIMIT ?`,
    )
      .all(afterKey, text, limit)
      .map(toOnceRecord);
  }

  head(): Position {
    return Number(this.#prepare("SELECT coalesce(max(last), 0) AS head FROM log").get()?.head ?? 0);
  }

  #documents(sql: string, ...values: SQLInputValue[]): StoredDocument[] {
    return this.#atOneMoment(() =>
      this.#prepare(sql)
        .all(...values)
        .map((row) => this.#document(row)),
    );
  }

  /** What a document refers to must not leave the log between the two reads. */
  #atOneMoment<Result>(read: () => Result): Result {
    if (this.#db.isTransaction) return read();
    this.#db.exec("BEGIN");
    try {
      return read();
    } finally {
      this.#db.exec("COMMIT");
    }
  }

  #document(row: Row): StoredDocument {
    return {
      kind: String(row.kind),
      id: String(row.id),
      tenantId: String(row.tenant_id),
      version: Number(row.version),
      born: Number(row.born),
      body: this.#bodies.read({ body: row.body ?? null, born: row.born ?? null }),
    };
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** What a session has is little beside what a tenant has. */
function rankedIndex({ sessionId, label }: RankedQuery): string {
  if (sessionId !== undefined) return "documents_by_session";
  return label === undefined ? "documents_ranked" : "documents_labelled";
}

/** The narrowest. */
function logIndex(tenantId: string | null, { taskId, sessionId }: EventQuery): string {
  if (taskId !== undefined) return "INDEXED BY log_by_task";
  if (sessionId !== undefined) return "INDEXED BY log_by_session";
  return tenantId === null ? "" : "INDEXED BY log_by_tenant";
}

function indexColumn(by: DocumentQuery["by"]): readonly [column: string, value: string] | null {
  if (by === undefined) return null;
  if ("workspaceId" in by) return ["workspace_id", by.workspaceId];
  if ("sessionId" in by) return ["session_id", by.sessionId];
  if ("taskId" in by) return ["task_id", by.taskId];
  return ["owner_id", by.ownerId];
}

/** More words than this make a search slower, not better. */
const wordsMax = 16;

/** Every word quoted, so that nothing in it is taken for an operator, and as the beginning of a word. */
function matchOf(text: string): string {
  return text
    .split(/[\s\p{Cc}\p{Cs}]+/u)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .slice(0, wordsMax)
    .map((word) => `"${word.replaceAll('"', '""')}"*`)
    .join(" ");
}

function toOnceRecord(row: Row): OnceRecord {
  return {
    key: String(row.key),
    fingerprint: String(row.fingerprint),
    result: String(row.result),
    position: row.position === null ? null : Number(row.position),
    expiresAt: Number(row.expires_at),
  };
}
