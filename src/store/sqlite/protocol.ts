/** What the main thread and the writer thread say to each other. Payloads travel as JSON text, made once. */

import type { DocumentIndex, NewBlob, OnceRecord, Position } from "../port.ts";

export interface WriterOptions {
  file: string;
}

/** Neighbouring events of a batch that share everything but name, resource and payload. */
export interface LogRow {
  tenantId: string;
  workspaceId: string | null;
  sessionId: string | null;
  taskId: string | null;
  actor: string | null;
  createdAt: string;
  /** What each event is about, for numbering it. */
  resourceIds: string[];
  /** JSON array of [name, object, resource id, payload]. */
  events: string;
}

export interface DocumentRow {
  kind: string;
  id: string;
  index: DocumentIndex;
  body: string;
}

export interface BatchRows {
  expect: { id: string; version: number }[];
  log: LogRow[];
  put: DocumentRow[];
  blobs: NewBlob[];
  once: OnceRecord | null;
}

export type Request =
  | { type: "commit"; batches: BatchRows[] }
  | { type: "forget_once"; before: number }
  | { type: "close" };

/** The numbers that the log gave to the events of one batch. */
export interface Numbered {
  first: Position;
  sequences: number[];
  previous: (Position | null)[];
}

export type BatchResult =
  | { ok: Numbered }
  | { conflict: "version" | "once"; about: string }
  | { failed: string };

export type Response =
  | { type: "ready"; head: Position }
  | { type: "committed"; results: BatchResult[] }
  | { type: "forgotten"; count: number }
  | { type: "closed" };
