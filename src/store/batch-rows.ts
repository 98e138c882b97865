/** Batches as rows of tables, and what a writer says became of them. Payloads are JSON text, made once. */

import { entryOf } from "./compact-entries.ts";
import { neighbours } from "./neighbours.ts";
import type {
  Batch,
  CursorMove,
  NewBlob,
  NewDocument,
  NewEvent,
  NewOnceRecord,
  Position,
  Regained,
  Trim,
} from "./port.ts";

/** Neighbouring events of a batch that share everything but name, resource and payload: columns in table order. */
export type LogRow = [
  tenantId: string,
  workspaceId: string | null,
  sessionId: string | null,
  taskId: string | null,
  actor: string | null,
  keyId: string | null,
  createdAt: string,
  /** JSON array of the entries that `compact-entries.ts` makes of events. */
  events: string,
];

export type DocumentRow = [
  id: string,
  kind: string,
  tenantId: string,
  listedIn: string | null,
  workspaceId: string | null,
  sessionId: string | null,
  taskId: string | null,
  status: string | null,
  wakeAt: number | null,
  /** JSON, or what the store has in its place. */
  body: string,
  ownerId: string | null,
  rank: number | null,
  label: string | null,
];

/** Arrays rather than objects: what crosses the threads is copied, names and all. */
export interface BatchRows {
  expect: [id: string, version: number][];
  log: { row: LogRow; resourceIds: string[] }[];
  put: DocumentRow[];
  /** Where documents that are made again stand. */
  regained: [id: string, regained: Regained][];
  /** The words of those that can be searched for; null takes them out. */
  texts: [id: string, text: string | null][];
  blobs: NewBlob[];
  once: NewOnceRecord | null;
  rewrite: RewriteRow[];
  rewriteOnce: OnceRewriteRow[];
  trim: Trim | null;
  cursor: CursorMove | null;
}

/** The new content of an event as JSON text. */
export interface RewriteRow {
  position: Position;
  payload: string;
  replay: string | null;
}

export interface OnceRewriteRow {
  key: string;
  result: string;
}

/** Blobs that are gone, and those that are spoken of again. */
export interface Dropped {
  kept: string[];
  count: number;
  bytes: number;
}

/** The numbers that the log gave to the events of one batch. */
export interface Numbered {
  first: Position;
  sequences: number[];
  previous: (Position | null)[];
}

export type BatchResult =
  | { ok: Numbered }
  | { conflict: "version" | "once"; about: string }
  /** `fault` says what is wrong with the disk; null if only this batch is at fault. */
  | { failed: string; fault: string | null }
  /** The disk failed in the middle of the commit: it may or may not be there. */
  | { unknown: string; fault: string };

/** The text that stands for a document's body, if the batch creates it with the first event about it. */
export type BodyText = (document: NewDocument, first: Placed | undefined) => string;

export interface Placed {
  event: NewEvent;
  /** The events in its row. */
  inRow: number;
}

/** Stops after each piece of work that grows with the batch. */
export function* makeRows(batch: Batch, bodyOf: BodyText): Generator<undefined, BatchRows> {
  const first = new Map<string, Placed>();
  const log: BatchRows["log"] = [];
  for (const run of neighbours(batch.events)) {
    log.push({ row: toLogRow(run), resourceIds: run.map(({ resource }) => resource.id) });
    for (const event of run) {
      if (!first.has(event.resource.id)) first.set(event.resource.id, { event, inRow: run.length });
    }
    yield;
  }
  const expect: BatchRows["expect"] = [];
  const created = new Set<string>();
  for (const { id, version } of batch.expect) {
    expect.push([id, version]);
    if (version === 0) created.add(id);
    yield;
  }
  const put: DocumentRow[] = [];
  const regained: BatchRows["regained"] = [];
  const texts: BatchRows["texts"] = [];
  for (const document of batch.put) {
    const { id, index } = document;
    put.push(toDocumentRow(document, bodyOf(document, created.has(id) ? first.get(id) : undefined)));
    if (document.regained !== undefined) regained.push([id, document.regained]);
    if (index.text !== undefined) texts.push([id, index.text]);
    yield;
  }
  return {
    ...{ expect, log, put, regained, texts },
    blobs: batch.blobs,
    once: batch.once ?? null,
    rewrite: (batch.rewrite ?? []).map(({ position, payload, replay }) => ({
      position,
      payload: JSON.stringify(payload),
      replay: replay === undefined ? null : JSON.stringify(replay),
    })),
    rewriteOnce: batch.rewriteOnce ?? [],
    trim: batch.trim ?? null,
    cursor: batch.cursor ?? null,
  };
}

function toDocumentRow({ id, kind, index }: NewDocument, body: string): DocumentRow {
  const { tenantId, isListed = true, workspaceId = null, sessionId = null, taskId = null } = index;
  const { ownerId = null, status = null, wakeAt = null, rank = null, label = null } = index;
  const listedIn = isListed ? tenantId : null;
  const found = [id, kind, tenantId, listedIn, workspaceId, sessionId, taskId, status, wakeAt] as const;
  return [...found, body, ownerId, rank, label];
}

function toLogRow(run: [NewEvent, ...NewEvent[]]): LogRow {
  const [{ tenantId, workspaceId, sessionId, taskId, actor, keyId = null, createdAt }] = run;
  return [
    tenantId,
    workspaceId,
    sessionId,
    taskId,
    actor,
    keyId,
    createdAt,
    JSON.stringify(run.map(entryOf)),
  ];
}

/** A document put over another form of it: what it belongs to stays as it was made. */
export function putOver(before: DocumentRow, after: DocumentRow): DocumentRow {
  const [id, kind, tenantId, listedIn, workspaceId, sessionId, taskId, , , , , , label] = before;
  const [, , , , , , , status, wakeAt, body, ownerId, rank] = after;
  return [
    ...([id, kind, tenantId, listedIn, workspaceId, sessionId, taskId] as const),
    ...([status, wakeAt, body, ownerId, rank, label] as const),
  ];
}
