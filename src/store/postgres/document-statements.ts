/** The statements that read documents. `tenantId` is null for those who look after all tenants. */

import type { DocumentQuery, RankedQuery, SearchQuery } from "../port.ts";
import type { DueQuery } from "../whole-store.ts";
import { phrasesOf } from "../words.ts";
import type { Statement } from "./connect.ts";
import { statement, Values, Where } from "./statements.ts";

const columns = "id, kind, tenant_id, version, born, body";
const columnsOf = (table: string) => columns.replace(/\w+/g, (column) => `${table}.${column}`);

export function getDocuments(tenantId: string | null, ids: readonly string[]): Statement {
  const values = new Values();
  const where = new Where(values);
  where.and("id = ANY(?)", ids);
  where.and("tenant_id = ?", tenantId ?? undefined);
  return statement(`SELECT ${columns} FROM documents WHERE ${where}`, ...values.list);
}

export function listDocuments(tenantId: string | null, query: DocumentQuery): Statement {
  const { kind, by, workspaceIds, statuses, beyond, bornAfter, bornThrough, limit } = query;
  const isNewest = query.order === "newest_first";
  const values = new Values();
  const where = new Where(values);
  where.and("kind = ?", kind);
  if (by === undefined) {
    if (tenantId === null) where.also("listed_in IS NOT NULL");
    else where.and("listed_in = ?", tenantId);
  } else {
    const [column, value] = indexColumn(by);
    where.and(`${column} = ?`, value);
  }
  where.and("tenant_id = ?", tenantId ?? undefined);
  ofWorkspaces(where, workspaceIds);
  where.and("status = ANY(?)", statuses);
  if (beyond !== undefined) {
    const after = `(${values.add(beyond.born)}::bigint, ${values.add(beyond.id)})`;
    where.also(`(born, id) ${isNewest ? "<" : ">"} ${after}`);
  }
  where.and("born > ?", bornAfter);
  where.and("born <= ?", bornThrough);
  const direction = isNewest ? "DESC" : "ASC";
  return statement(
    `SELECT ${columns} FROM documents WHERE ${where}
     ORDER BY born ${direction}, id ${direction} LIMIT ${values.add(limit)}`,
    ...values.list,
  );
}

/** What belongs to no workspace belongs to the whole tenant. */
function ofWorkspaces(where: Where, workspaceIds: readonly string[] | undefined): void {
  where.and("(workspace_id IS NULL OR workspace_id = ANY(?))", workspaceIds);
}

function indexColumn(by: NonNullable<DocumentQuery["by"]>): readonly [column: string, value: string] {
  if ("workspaceId" in by) return ["workspace_id", by.workspaceId];
  if ("sessionId" in by) return ["session_id", by.sessionId];
  if ("taskId" in by) return ["task_id", by.taskId];
  return ["owner_id", by.ownerId];
}

/** What a ranked list is narrowed by, beside its status. */
function rankedWhere(tenantId: string, query: RankedQuery): Where {
  const where = new Where(new Values(), "rank IS NOT NULL");
  where.and("kind = ?", query.kind);
  where.and("listed_in = ?", tenantId);
  where.and("tenant_id = ?", tenantId);
  where.and("session_id = ?", query.sessionId);
  where.and("label = ?", query.label);
  where.and("rank >= ?", query.rankFrom);
  where.and("workspace_id = ANY(?)", query.workspaceIds);
  return where;
}

export function countRanked(tenantId: string, query: RankedQuery): Statement {
  const where = rankedWhere(tenantId, query);
  where.and("status = ANY(?)", query.statuses);
  return statement(`SELECT count(*) AS n FROM documents WHERE ${where}`, ...where.values.list);
}

/** The index is in order for each status; the lists of all of them are merged. */
export function rankedDocuments(tenantId: string, query: RankedQuery): Statement {
  const { kind, sessionId, label, statuses, beyond, limit } = query;
  const where = rankedWhere(tenantId, query);
  const { values } = where;
  if (beyond !== undefined)
    where.also(`(rank, id) < (${values.add(beyond.rank)}::bigint, ${values.add(beyond.id)})`);
  const page = `ORDER BY rank DESC, id DESC LIMIT ${values.add(limit)}`;
  // What a session has is little beside what a tenant has.
  if (sessionId !== undefined) {
    where.and("status = ANY(?)", statuses);
    return statement(`SELECT ${columns}, rank FROM documents WHERE ${where} ${page}`, ...values.list);
  }
  const of = (condition: string) => `(SELECT ${columns}, rank FROM documents
      WHERE ${where} AND ${condition} ${page})`;
  if (statuses !== undefined) {
    const sql = `SELECT page.* FROM (SELECT DISTINCT unnest(${values.add(statuses)}::text[]) AS status) AS wanted
      CROSS JOIN LATERAL ${of("documents.status = wanted.status")} AS page ${page}`;
    return statement(sql, ...values.list);
  }
  const narrowed = new Where(values, "rank IS NOT NULL");
  narrowed.and("kind = ?", kind);
  narrowed.and("listed_in = ?", tenantId);
  narrowed.and("label = ?", label);
  const next = (more: string) => `(SELECT min(status) FROM documents WHERE ${narrowed} ${more})`;
  // The statuses that there are, each found by one step in the index.
  const sql = `WITH RECURSIVE statuses (status) AS (
      SELECT ${next("")} UNION ALL
      SELECT ${next("AND documents.status > statuses.status")} FROM statuses WHERE statuses.status IS NOT NULL
    ) SELECT * FROM (
      SELECT page.* FROM statuses CROSS JOIN LATERAL ${of("documents.status = statuses.status")} AS page
      UNION ALL ${of("documents.status IS NULL")}
    ) AS pages ${page}`;
  return statement(sql, ...values.list);
}

/** Null when there is no word in the text. Better is lower: the rank counts repetitions, and long texts less. */
export function searchDocuments(tenantId: string, query: SearchQuery): Statement | null {
  const phrases = phrasesOf(query.text);
  if (phrases.length === 0) return null;
  const values = new Values();
  const words = values.add(wordQuery(phrases));
  const where = new Where(values, `texts.words @@ ${words}::tsquery`);
  where.and("texts.tenant_id = ?", tenantId);
  where.and("texts.kind = ?", query.kind);
  where.and("listed_in = ?", tenantId);
  ofWorkspaces(where, query.workspaceIds);
  where.and("documents.id = ANY(?)", query.ids);
  where.and("owner_id = ANY(?)", query.ownerIds);
  where.and("status = ANY(?)", query.statuses);
  const found = `SELECT ${columnsOf("documents")}, -ts_rank(texts.words, ${words}::tsquery, 2)::float8 AS score
    FROM texts JOIN documents ON documents.id = texts.id WHERE ${where}`;
  const { beyond } = query;
  const rest =
    beyond === undefined
      ? ""
      : `WHERE (score, id) > (${values.add(beyond.score)}::float8, ${values.add(beyond.id)})`;
  const sql = `SELECT * FROM (${found}) AS found ${rest} ORDER BY score, id LIMIT ${values.add(query.limit)}`;
  return statement(sql, ...values.list);
}

/** All of the phrases, each of words one after the other, the last one perhaps only begun. Words are letters and digits. */
function wordQuery(phrases: readonly string[][]): string {
  return phrases
    .map((phrase) => phrase.map((word, n) => `'${word}'${n === phrase.length - 1 ? ":*" : ""}`).join(" <-> "))
    .map((phrase) => `(${phrase})`)
    .join(" & ");
}

export function dueDocuments({ kind, after, through, limit }: DueQuery): Statement {
  return statement(
    `SELECT id, wake_at FROM documents
     WHERE kind = $1 AND (wake_at, id) > ($2::bigint, $3) AND wake_at <= $4 ORDER BY wake_at, id LIMIT $5`,
    ...[kind, after.wakeAt, after.id, through, limit],
  );
}

export function countDocuments(tenantId: string, kind: string): Statement {
  return statement("SELECT count(*) AS n FROM documents WHERE kind = $1 AND tenant_id = $2", kind, tenantId);
}

export function everyDocument({ afterId, limit }: { afterId: string; limit: number }): Statement {
  return statement(`SELECT ${columns} FROM documents WHERE id > $1 ORDER BY id LIMIT $2`, afterId, limit);
}

export const tenantIds = statement(
  "SELECT id FROM documents WHERE kind = 'tenant' AND listed_in IS NOT NULL",
);
