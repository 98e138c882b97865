/** The statements that read the log, and what is kept beside it. */

import type { EventQuery, Position } from "../port.ts";
import type { Statement } from "./connect.ts";
import { statement, Values, Where } from "./statements.ts";

/** A row has at least one event, so as many rows as events are asked for are enough. */
export function logRows(tenantId: string | null, query: EventQuery): Statement {
  const { after, through, taskId, sessionId, workspaceIds, newestFirst = false, bytesMax, limit } = query;
  const values = new Values();
  const where = new Where(values);
  where.and("last > ?", after);
  where.and("task_id = ?", taskId);
  where.and("session_id = ?", sessionId);
  where.and("tenant_id = ?", tenantId ?? undefined);
  where.and("first <= ?", through);
  const page = `ORDER BY last ${newestFirst ? "DESC" : ""} LIMIT ${values.add(limit)}`;
  const isNarrow = taskId !== undefined || sessionId !== undefined;
  let sql: string;
  if (workspaceIds === undefined || isNarrow) {
    where.and("workspace_id = ANY(?)", workspaceIds);
    sql = `SELECT * FROM log WHERE ${where} ${page}`;
  } else {
    // The index is in order for each workspace; the lists of all of them are merged.
    sql = `SELECT page.* FROM (SELECT DISTINCT unnest(${values.add(workspaceIds)}::text[]) AS id) AS workspace
      CROSS JOIN LATERAL (SELECT * FROM log WHERE ${where} AND workspace_id = workspace.id ${page}) AS page ${page}`;
  }
  if (bytesMax !== undefined) sql = upTo(sql, values.add(bytesMax), newestFirst);
  return statement(sql, ...values.list);
}

/** Rows until so many bytes are reached. */
function upTo(rows: string, bytesMax: string, newestFirst: boolean): string {
  const order = `ORDER BY last ${newestFirst ? "DESC" : ""}`;
  return `SELECT * FROM (
      SELECT *, sum(octet_length(events)) OVER (${order}) - octet_length(events) AS before FROM (${rows}) AS page
    ) AS summed WHERE before < ${bytesMax} ${order}`;
}

/** The rows that hold these positions, where there are any. */
export function logRowsAt(positions: readonly Position[]): Statement {
  return statement(
    `SELECT row.* FROM unnest($1::bigint[]) AS wanted (position)
     CROSS JOIN LATERAL (SELECT * FROM log WHERE last >= wanted.position ORDER BY last LIMIT 1) AS row
     WHERE row.first <= wanted.position`,
    positions,
  );
}

export const head = statement("SELECT position FROM head");

export function onceRecord(key: string): Statement {
  return statement("SELECT key, fingerprint, result, position, expires_at FROM once WHERE key = $1", key);
}

export function onceRecordsWith({
  text,
  afterKey,
  limit,
}: {
  text: string;
  afterKey: string;
  limit: number;
}): Statement {
  return statement(
    `SELECT key, fingerprint, result, position, expires_at FROM once
     WHERE key > $1 AND strpos(result, $2) > 0 ORDER BY key LIMIT $3`,
    ...[afterKey, text, limit],
  );
}

export function forgetOnce(before: number): Statement {
  return statement("DELETE FROM once WHERE expires_at < $1", before);
}

export function cursorOf(name: string): Statement {
  return statement("SELECT position FROM cursors WHERE name = $1", name);
}

export function storedBytes(tenantId: string): Statement {
  return statement("SELECT log, blobs FROM tenant_bytes WHERE tenant_id = $1", tenantId);
}
