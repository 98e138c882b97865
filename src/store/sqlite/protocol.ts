/** What the main thread and the writer thread say to each other. Payloads travel as JSON text, made once. */

import type { CursorMove, NewBlob, NewOnceRecord, Position, Regained, Trim } from "../port.ts";

export interface WriterOptions {
  file: string;
  /** The epoch that this process has taken; null if it could not be written yet. */
  epoch: number | null;
}

/** Neighbouring events of a batch that share everything but name, resource and payload: columns in table order. */
export type LogRow = [
  tenantId: string,
  workspaceId: string | null,
  sessionId: string | null,
  taskId: string | null,
  actor: string | null,
  keyId: string | null,
  createdAt: string,
  /**
   * JSON array of [name, object, resource id, payload], with a fifth item for a replayed event, where it is from, and a sixth
   * for an imported one, who brought it.
   */
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
  /** JSON, or where it is in the log (`document-body.ts`). */
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

export type Request =
  | { type: "commit"; batches: BatchRows[] }
  | { type: "forget_once"; before: number }
  | { type: "drop_blobs"; sha256s: string[]; scannedThrough: Position }
  | { type: "scrub" }
  | { type: "probe" }
  | { type: "close" };

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

export type Response =
  | { type: "committed"; results: BatchResult[] }
  | { type: "forgotten"; count: number }
  | ({ type: "dropped" } & Dropped)
  | { type: "scrubbed" }
  | { type: "probed"; fault: string | null }
  | { type: "failed"; reason: string }
  /** This process must not write any more. */
  | { type: "fenced"; reason: string }
  | { type: "closed" };
