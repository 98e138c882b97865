/** Reads of a store in memory: every document is looked at, which is fine for as many as a test has. */

import type {
  DocumentIndex,
  DocumentQuery,
  EventQuery,
  Position,
  RankedDocuments,
  RankedQuery,
  StoredDocument,
  StoredEvent,
} from "../port.ts";
import type { DueQuery } from "../whole-store.ts";
import type { HeldDocument } from "./contents.ts";

export function shown({ kind, id, tenantId, version, born, body }: HeldDocument): StoredDocument {
  return { kind, id, tenantId, version, born, body };
}

/** Of one tenant, or of all. */
export function list(
  documents: Iterable<HeldDocument>,
  query: DocumentQuery,
  tenantId: string | null,
): StoredDocument[] {
  const { kind, workspaceIds, statuses, beyond, limit } = query;
  const { bornAfter = -1, bornThrough = Number.POSITIVE_INFINITY } = query;
  const direction = query.order === "newest_first" ? -1 : 1;
  const isBeyond = (document: HeldDocument) =>
    beyond === undefined || direction * byBirth(document, beyond) > 0;
  return [...documents]
    .filter(
      (document) =>
        document.kind === kind &&
        (tenantId === null || document.tenantId === tenantId) &&
        isIn(document.index, query.by) &&
        isOfOrNone(document.index.workspaceId, workspaceIds) &&
        isOf(document.index.status, statuses) &&
        document.born > bornAfter &&
        document.born <= bornThrough &&
        isBeyond(document),
    )
    .sort((a, b) => direction * byBirth(a, b))
    .slice(0, limit)
    .map(shown);
}

export function ranked(
  documents: Iterable<HeldDocument>,
  query: RankedQuery,
  tenantId: string,
): RankedDocuments {
  const { kind, workspaceIds, sessionId, label, statuses, beyond, limit } = query;
  const { rankFrom = Number.NEGATIVE_INFINITY } = query;
  const found = [...documents]
    .filter(
      ({ kind: ofKind, index }) =>
        ofKind === kind &&
        isListedIn(index, tenantId) &&
        isOf(index.workspaceId, workspaceIds) &&
        isOf(index.status, statuses) &&
        (sessionId === undefined || index.sessionId === sessionId) &&
        (label === undefined || index.label === label),
    )
    .flatMap((document) => {
      const { rank } = document.index;
      return rank == null || rank < rankFrom ? [] : [{ ...shown(document), rank }];
    })
    .sort((a, b) => b.rank - a.rank || compare(b.id, a.id));
  const rest =
    beyond === undefined
      ? found
      : found.filter(({ rank, id }) => rank < beyond.rank || (rank === beyond.rank && id < beyond.id));
  return { documents: rest.slice(0, limit), total: found.length };
}

export function due(documents: Iterable<HeldDocument>, query: DueQuery): { id: string; wakeAt: number }[] {
  const { kind, after, through, limit } = query;
  return [...documents]
    .flatMap(({ kind: ofKind, id, index: { wakeAt } }) =>
      ofKind === kind && wakeAt != null ? [{ id, wakeAt }] : [],
    )
    .filter((one) => one.wakeAt <= through && byTime(one, after) > 0)
    .sort(byTime)
    .slice(0, limit);
}

export function events(
  log: readonly (StoredEvent | undefined)[],
  query: EventQuery,
  tenantId: string | null,
): StoredEvent[] {
  const { after, limit, workspaceIds, sessionId, taskId, newestFirst = false } = query;
  const found: StoredEvent[] = [];
  const last = Math.min(query.through ?? log.length, log.length);
  const [start, end, step] = newestFirst ? [last, after, -1] : [after + 1, last + 1, 1];
  for (
    let position: Position = start;
    step * position < step * end && found.length < limit;
    position += step
  ) {
    const event = log[position - 1];
    if (
      event !== undefined &&
      (tenantId === null || event.tenantId === tenantId) &&
      (sessionId === undefined || event.sessionId === sessionId) &&
      (taskId === undefined || event.taskId === taskId) &&
      isOf(event.workspaceId, workspaceIds)
    )
      found.push(event);
  }
  return found;
}

export function isListedIn({ tenantId, isListed = true }: DocumentIndex, wanted: string): boolean {
  return isListed && tenantId === wanted;
}

/** Whether a value is among those that are allowed; without a list all are. */
export function isOf(value: string | null | undefined, allowed: readonly string[] | undefined): boolean {
  return allowed === undefined || (value != null && allowed.includes(value));
}

/** What belongs to no workspace belongs to the whole tenant. */
export function isOfOrNone(
  workspaceId: string | null | undefined,
  allowed: readonly string[] | undefined,
): boolean {
  return workspaceId == null || isOf(workspaceId, allowed);
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function isIn(index: DocumentIndex, by: DocumentQuery["by"]): boolean {
  if (by === undefined) return index.isListed ?? true;
  if ("workspaceId" in by) return index.workspaceId === by.workspaceId;
  if ("sessionId" in by) return index.sessionId === by.sessionId;
  if ("taskId" in by) return index.taskId === by.taskId;
  return index.ownerId === by.ownerId;
}

type Birth = Pick<StoredDocument, "born" | "id">;

function byBirth(a: Birth, b: Birth): number {
  return a.born - b.born || compare(a.id, b.id);
}

function byTime(a: { wakeAt: number; id: string }, b: { wakeAt: number; id: string }): number {
  return a.wakeAt - b.wakeAt || compare(a.id, b.id);
}
