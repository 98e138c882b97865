/** Reading one record or a page of records, as far as the caller may see them. */

import type { Caller } from "../../policy/caller.ts";
import type { DocumentQuery, Store, StoredDocument } from "../../store/port.ts";
import { isVisible, requireScope } from "../access/authorize.ts";
import { readScope } from "../access/read-scopes.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { notFound } from "./errors.ts";
import { isDeleted, type Kind, type Records } from "./fold.ts";

export interface ReadDeps {
  store: Store;
}

export interface Page<T> {
  data: T[];
  nextCursor: string | null;
}

export const pageSizeDefault = 50;
/** A page of large items is shorter than was asked for, but never empty. */
const pageBytesMax = 16 * 1024 * 1024;

/** As many of the items, from the first, as a page may hold. */
export function fitPage<T>(items: readonly T[], limit: number, bytesOf: (item: T) => number): T[] {
  let bytes = 0;
  const end = items.slice(0, limit).findIndex((item, index) => {
    bytes += bytesOf(item);
    return bytes > pageBytesMax && index > 0;
  });
  return items.slice(0, end === -1 ? limit : end);
}

/** A record the caller may see, or the same `resource_not_found` that an absent one gets. */
export async function getRecord<K extends Kind>(
  { store }: ReadDeps,
  caller: Caller,
  kind: K,
  id: string,
): Promise<Records[K]> {
  requireScope(caller, readScope[kind]);
  const record = await findVisible(store, caller, kind, id);
  if (record === undefined) throw notFound(kind, id);
  return record;
}

export async function findVisible<K extends Kind>(
  store: Store,
  caller: Caller,
  kind: K,
  id: string,
): Promise<Records[K] | undefined> {
  const document = await store.of(caller.tenantId).get(kind, id);
  if (document === undefined) return undefined;
  const record = document.body as Records[K];
  return isVisible(caller, record) && !isDeleted(record) ? record : undefined;
}

export interface ListRequest {
  workspaceId?: string | undefined;
  sessionId?: string | undefined;
  taskId?: string | undefined;
  cursor?: string | undefined;
  limit?: number | undefined;
}

/** A page of records, newest first. A filter that names something invisible finds nothing. */
export async function listRecords<K extends Kind>(
  deps: ReadDeps,
  caller: Caller,
  kind: K,
  request: ListRequest,
): Promise<Page<Records[K]>> {
  requireScope(caller, readScope[kind]);
  return await listDocuments(deps, caller, kind, request);
}

/** The same for kinds whose documents stay when what they stand for is deleted. */
export async function listLive<K extends "connector" | "skill">(
  deps: ReadDeps,
  caller: Caller,
  kind: K,
  request: ListRequest,
): Promise<Page<Records[K]>> {
  requireScope(caller, readScope[kind]);
  return await listDocuments(deps, caller, kind, request, ["live"]);
}

/** The same without asking for a scope, perhaps only documents in some states. */
export async function listDocuments<K extends Kind>(
  { store }: ReadDeps,
  caller: Caller,
  kind: K,
  request: ListRequest,
  statuses?: readonly string[],
): Promise<Page<Records[K]>> {
  const limit = request.limit ?? pageSizeDefault;
  const beyond = request.cursor === undefined ? undefined : decodeCursor(kind, request.cursor);
  const by = await narrowestIndex(store, caller, request);
  if (by === null) return { data: [], nextCursor: null };
  const documents = await store.of(caller.tenantId).list({
    kind,
    by,
    workspaceIds: caller.workspaceIds ?? undefined,
    statuses,
    order: "newest_first",
    beyond,
    limit: limit + 1,
  });
  return toPage(documents, limit, kind, (record) => isVisible(caller, record));
}

function toPage<K extends Kind>(
  documents: StoredDocument[],
  limit: number,
  kind: K,
  isShown: (record: Records[K]) => boolean,
): Page<Records[K]> {
  const data = documents.slice(0, limit);
  const last = data.at(-1);
  return {
    data: data.map((document) => document.body as Records[K]).filter(isShown),
    nextCursor: documents.length > limit && last !== undefined ? encodeCursor(kind, last) : null,
  };
}

/** Filters must agree with each other; the narrowest decides which index is walked. */
async function narrowestIndex(
  store: Store,
  caller: Caller,
  { workspaceId, sessionId, taskId }: ListRequest,
): Promise<DocumentQuery["by"] | null> {
  if (taskId !== undefined) {
    const task = await findVisible(store, caller, "task", taskId);
    const agrees =
      task !== undefined &&
      (sessionId === undefined || task.session_id === sessionId) &&
      (workspaceId === undefined || task.workspace_id === workspaceId);
    return agrees ? { taskId } : null;
  }
  if (sessionId !== undefined) {
    const session = await findVisible(store, caller, "session", sessionId);
    const agrees =
      session !== undefined && (workspaceId === undefined || session.workspace_id === workspaceId);
    return agrees ? { sessionId } : null;
  }
  if (workspaceId !== undefined) {
    const workspace = await findVisible(store, caller, "workspace", workspaceId);
    return workspace === undefined ? null : { workspaceId };
  }
  return undefined;
}
