/** The statements of a commit: what a group of batches is decided from, and what it changes. */

import type { BatchRows, DocumentRow } from "../batch-rows.ts";
import type { Value } from "../log-rows.ts";
import type { Position } from "../port.ts";
import { wordsOf } from "../words.ts";
import type { Statement } from "./connect.ts";
import type { GroupChanges } from "./group-changes.ts";
import { logRowsAt } from "./log-statements.ts";
import { statement } from "./statements.ts";

/** Waits for commits of other nodes; from here to the end of the transaction the state of everything holds still. */
export const lockHead = statement("SELECT position, epoch FROM head FOR UPDATE");

export const begin = statement("BEGIN");
export const commit = statement("COMMIT");
export const rollback = statement("ROLLBACK");

export interface StateStatements {
  heads: Statement;
  onceKeys: Statement;
  cursors: Statement;
  rows: Statement;
}

/** What has to be read before a group is decided; null where it is about nothing of the kind. */
export function stateStatements(batches: readonly BatchRows[]): Partial<StateStatements> {
  const ids = new Set<string>();
  const [keys, names, positions]: [string[], string[], Set<Position>] = [[], [], new Set()];
  for (const { expect, put, log, once, cursor, rewrite, trim } of batches) {
    for (const [id] of expect) ids.add(id);
    for (const [id] of put) ids.add(id);
    for (const { resourceIds } of log) for (const id of resourceIds) ids.add(id);
    if (once !== null) keys.push(once.key);
    if (cursor !== null) names.push(cursor.name);
    for (const { position } of rewrite) positions.add(position);
    for (const position of trim?.events ?? []) positions.add(position);
  }
  const heads = "SELECT id, tenant_id, version, sequence, last_event FROM documents WHERE id = ANY($1)";
  return {
    ...(ids.size > 0 ? { heads: statement(heads, [...ids]) } : {}),
    ...(keys.length > 0 ? { onceKeys: statement("SELECT key FROM once WHERE key = ANY($1)", keys) } : {}),
    ...(names.length > 0
      ? { cursors: statement("SELECT name, position FROM cursors WHERE name = ANY($1)", names) }
      : {}),
    ...(positions.size > 0 ? { rows: logRowsAt([...positions]) } : {}),
  };
}

/** Everything that a group changes, to be sent at once. */
export function* changeStatements(changes: GroupChanges): Generator<Statement> {
  yield* logStatements(changes);
  yield* documentStatements(changes);
  yield* textStatements(changes);
  yield* recordStatements(changes);
  yield* blobStatements(changes);
}

const logColumns = [
  ["last", "bigint"],
  ["first", "bigint"],
  ["numbers", "text"],
  ["checksum", "bigint"],
  ["tenant_id", "text"],
  ["workspace_id", "text"],
  ["session_id", "text"],
  ["task_id", "text"],
  ["actor", "text"],
  ["key_id", "text"],
  ["created_at", "text"],
  ["events", "text"],
] as const;

function* logStatements({ log, editedRows, position }: GroupChanges): Generator<Statement> {
  const rows: Value[][] = log.map(({ last, first, numbers, checksum, row }) => [
    ...[last, first, numbers, checksum],
    ...row,
  ]);
  if (editedRows.size > 0) {
    yield statement("DELETE FROM log WHERE last = ANY($1)", [...editedRows.keys()]);
    for (const { last, first, numbers, checksum, shared, events } of [...editedRows.values()].flat())
      rows.push([last, first, numbers, checksum, ...shared, events]);
  }
  if (rows.length > 0) yield insertRows("log", logColumns, rows);
  if (log.length > 0) yield statement("UPDATE head SET position = $1", position);
}

const documentColumns = [
  ["version", "bigint"],
  ["sequence", "bigint"],
  ["last_event", "bigint"],
  ["born", "bigint"],
  ["id", "text"],
  ["kind", "text"],
  ["tenant_id", "text"],
  ["listed_in", "text"],
  ["workspace_id", "text"],
  ["session_id", "text"],
  ["task_id", "text"],
  ["status", "text"],
  ["wake_at", "bigint"],
  ["body", "text"],
  ["owner_id", "text"],
  ["rank", "bigint"],
  ["label", "text"],
] as const;

const updateDocuments = `UPDATE documents SET version = put.version, sequence = put.sequence, last_event = put.last_event,
    status = put.status, wake_at = put.wake_at, body = put.body, rank = put.rank, owner_id = put.owner_id
  FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::text[], $8::bigint[], $9::text[])
    AS put (id, version, sequence, last_event, status, wake_at, body, rank, owner_id)
  WHERE documents.id = put.id`;

const numberDocuments = `UPDATE documents SET sequence = put.sequence, last_event = put.last_event
  FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS put (id, sequence, last_event) WHERE documents.id = put.id`;

function* documentStatements(changes: GroupChanges): Generator<Statement> {
  const { documents, numbered, deletedDocuments, unlisted } = changes;
  if (deletedDocuments.size > 0) {
    yield statement("DELETE FROM documents WHERE id = ANY($1)", [...deletedDocuments]);
    yield statement("DELETE FROM texts WHERE id = ANY($1)", [...deletedDocuments]);
  }
  const put = [...documents.values()];
  const made = put.flatMap(({ document, head: { version, sequence, lastEvent }, born }) =>
    born === null ? [] : [[version, sequence, lastEvent, born, ...document]],
  );
  if (made.length > 0) yield insertRows("documents", documentColumns, made);
  const changed = put.flatMap(({ document, head, born }) =>
    born === null ? [changedRow(document, head)] : [],
  );
  if (changed.length > 0) yield statement(updateDocuments, ...columnsOf(changed));
  const rows = [...numbered].map(([id, { sequence, lastEvent }]) => [id, sequence, lastEvent]);
  if (rows.length > 0) yield statement(numberDocuments, ...columnsOf(rows));
  if (unlisted.size > 0)
    yield statement("UPDATE documents SET listed_in = NULL WHERE id = ANY($1)", [...unlisted]);
}

function changedRow(
  [id, , , , , , , status, wakeAt, body, ownerId, rank]: DocumentRow,
  { version, sequence, lastEvent }: { version: number; sequence: number; lastEvent: Position | null },
): Value[] {
  return [id, version, sequence, lastEvent, status, wakeAt, body, rank, ownerId];
}

/** Beyond these PostgreSQL keeps no words of a text, or none of their places. */
const placesMax = 16_383;
const wordBytesMax = 2046;

function* textStatements({ texts }: GroupChanges): Generator<Statement> {
  if (texts.size === 0) return;
  yield statement("DELETE FROM texts WHERE id = ANY($1)", [...texts.keys()]);
  const put = [...texts].flatMap(([id, { text, ...of }]) => (text === null ? [] : [{ id, text, ...of }]));
  const insert = insertTexts(put);
  if (insert !== null) yield insert;
}

/** Null when there are none. */
export function insertTexts(
  texts: Iterable<{ id: string; tenantId: string; kind: string; text: string }>,
): Statement | null {
  const rows = [...texts].map(({ id, tenantId, kind, text }) => [id, tenantId, kind, vectorOf(text)]);
  const sql = `INSERT INTO texts (id, tenant_id, kind, words)
    SELECT id, tenant_id, kind, words::tsvector
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS put (id, tenant_id, kind, words)
    ON CONFLICT (id) DO UPDATE SET words = excluded.words`;
  return rows.length === 0 ? null : statement(sql, ...columnsOf(rows));
}

/** The words with their places. They are letters and digits, so none has to be quoted. */
function vectorOf(text: string): string {
  return wordsOf(text)
    .flatMap((word, n) =>
      Buffer.byteLength(word) > wordBytesMax ? [] : [`'${word}':${Math.min(n + 1, placesMax)}`],
    )
    .join(" ");
}

function* recordStatements({ once, onceResults, cursors }: GroupChanges): Generator<Statement> {
  if (once.size > 0) {
    const sql = `INSERT INTO once (key, fingerprint, result, expires_at, position)
      SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])`;
    const rows = [...once.values()].map((kept) => [
      ...[kept.key, kept.fingerprint, kept.result, kept.expiresAt, kept.position],
    ]);
    yield statement(sql, ...columnsOf(rows));
  }
  if (onceResults.size > 0) {
    const sql = `UPDATE once SET result = put.result FROM unnest($1::text[], $2::text[]) AS put (key, result)
      WHERE once.key = put.key`;
    yield statement(sql, [...onceResults.keys()], [...onceResults.values()]);
  }
  if (cursors.size > 0) {
    const sql = `INSERT INTO cursors (name, position) SELECT * FROM unnest($1::text[], $2::bigint[])
      ON CONFLICT (name) DO UPDATE SET position = excluded.position`;
    yield statement(sql, [...cursors.keys()], [...cursors.values()]);
  }
}

function* blobStatements({ blobs }: GroupChanges): Generator<Statement> {
  for (const { sha256, bytes } of blobs) {
    if (bytes === null) continue;
    const sql = "INSERT INTO blobs (sha256, bytes, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    yield statement(sql, sha256, bytes.length, bytes);
  }
  if (blobs.length === 0) return;
  const sql = `INSERT INTO blob_owners (sha256, tenant_id, bytes)
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[]) ON CONFLICT DO NOTHING`;
  const rows = blobs.map(({ sha256, tenantId, bytes, stagedBytes = 0 }) => [
    ...[sha256, tenantId, bytes?.length ?? stagedBytes],
  ]);
  yield statement(sql, ...columnsOf(rows));
}

/** Remembers in the transaction itself that a writer has committed the group of this number. */
export function markGroup(writerId: string, group: number): Statement {
  const sql = `INSERT INTO writers (id, groups) VALUES ($1, $2)
    ON CONFLICT (id) DO UPDATE SET groups = excluded.groups, seen = now()`;
  return statement(sql, writerId, group);
}

/** Writes something small, which must not look like a group. */
export function markSeen(writerId: string): Statement {
  return statement("UPDATE writers SET seen = now() WHERE id = $1", writerId);
}

export function lastGroup(writerId: string): Statement {
  return statement("SELECT groups FROM writers WHERE id = $1", writerId);
}

export function notify(channel: string, payload: string): Statement {
  return statement("SELECT pg_notify($1, $2)", channel, payload);
}

/** `orLeave` leaves rows as they are that are there already. */
export function insertRows(
  table: string,
  columns: readonly (readonly [name: string, type: string])[],
  rows: readonly (readonly Value[])[],
  { orLeave = false } = {},
): Statement {
  const names = columns.map(([name]) => name).join(", ");
  const arrays = columns.map(([, type], index) => `$${index + 1}::${type}[]`).join(", ");
  const conflict = orLeave ? " ON CONFLICT DO NOTHING" : "";
  return statement(
    `INSERT INTO ${table} (${names}) SELECT * FROM unnest(${arrays})${conflict}`,
    ...columnsOf(rows),
  );
}

/** Rows as columns, for `unnest`. */
function columnsOf(rows: readonly (readonly Value[])[]): Value[][] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column] ?? null));
}
