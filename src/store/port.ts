/**
 * The one port to durable storage: reads by key, by index and by log range, for one tenant at a time, as if there were no other;
 * writes only as batches. Owned by the kernel's needs; every store behind it passes the same suite (`test/store-contract.ts`).
 * What looks after all tenants has a port of its own, `whole-store.ts`.
 */

/** Where an event stands in the whole log: 1, 2, 3, … Never reused. */
export type Position = number;

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

/** A fact to be appended. The store gives it its position, its sequence and its predecessor. */
export interface NewEvent {
  event: string;
  resource: { object: string; id: string };
  tenantId: string;
  workspaceId: string | null;
  sessionId: string | null;
  taskId: string | null;
  actor: string | null;
  /** The API key that the actor used; absent for callers without one. */
  keyId?: string;
  createdAt: string;
  payload: object;
  /** Set on a copy of an earlier event: where it comes from. It changes no document. */
  replay?: object;
  /** Set on an event that came with the log of another server: who brought it, and when. */
  imported?: object;
}

export interface StoredEvent extends NewEvent {
  position: Position;
  /** Counts the events of one resource from 1, without gaps. */
  sequence: number;
  /** The position of the resource's event before this one. */
  previous: Position | null;
}

/** The columns a document can be found by. A null column keeps the document out of that index. */
export interface DocumentIndex {
  tenantId: string;
  /** False keeps it out of the lists of a whole tenant: it is only found through what it belongs to. */
  isListed?: boolean;
  workspaceId?: string | null;
  sessionId?: string | null;
  taskId?: string | null;
  /** What it belongs to otherwise: a persona, a tenant. */
  ownerId?: string | null;
  status?: string | null;
  /** When somebody has to look at the document next, in milliseconds since 1970. */
  wakeAt?: number | null;
  /** What ranked lists are in the order of, and can be narrowed by. Left out, it is in no ranked list. */
  rank?: number | null;
  label?: string | null;
  /** The words that it is found by in a search; null takes it out again. Left out for what is never searched for. */
  text?: string | null;
}

export interface NewDocument {
  kind: string;
  id: string;
  index: DocumentIndex;
  body: object;
  /** Only for one that was lost and is made again from its events: where it stands among them. */
  regained?: Regained;
}

/** What a store knows of a document beside what it says. */
export interface Regained {
  born: Position;
  /** The number and the place of the last event about it. */
  sequence: number;
  lastEvent: Position | null;
}

export interface StoredDocument {
  kind: string;
  id: string;
  tenantId: string;
  /** Counts the commits that put this document; 1 is the first. */
  version: number;
  /** The position of the first event of the commit that created it: the order of creation. */
  born: Position;
  body: unknown;
}

export interface Blob {
  sha256: string;
  bytes: Uint8Array;
}

/** Content for one tenant: others that have the same need not know. */
export interface NewBlob {
  tenantId: string;
  sha256: string;
  /** Null for what was staged and kept before. */
  bytes: Uint8Array | null;
  /** The length of what was staged. */
  stagedBytes?: number;
}

/** Content that has arrived but belongs to nothing yet. */
export interface StagedBlob {
  sha256: string;
  bytes: number;
  /** On disk under its hash when this resolves, for a commit that is going to refer to it. */
  keep(): Promise<void>;
  /** Always called in the end: leaves nothing behind, unless it was kept. What was kept can be dropped from here on. */
  discard(): Promise<void>;
}

/** Content of any size, read without holding it in memory. */
export interface OpenBlob {
  bytes: number;
  /**
   * From `start` up to and not including `end`, once; with its end, or when the reader gives up, it is closed. Rejects before
   * anything of damaged content is read as a part; as a whole, it breaks off before its end.
   */
  read(start: number, end: number): Promise<AsyncIterable<Uint8Array>>;
  /** For those who do not read it after all. */
  close(): Promise<void>;
}

/** More content arrived than is taken. */
export class BlobTooLarge extends Error {
  override name = "BlobTooLarge";
}

/** The answer to a write that carried an idempotency key, kept in the same commit as the write itself. */
export interface NewOnceRecord {
  key: string;
  /** Hash of the request: the same key with another request is an error, not a repeat. */
  fingerprint: string;
  result: string;
  expiresAt: number;
}

export interface OnceRecord extends NewOnceRecord {
  /** The last event of the commit that it was kept in; null when that had none. */
  position: Position | null;
}

export interface Batch {
  /** Versions that must still be current; 0 means that the document must not exist. */
  expect: { kind: string; id: string; version: number }[];
  events: NewEvent[];
  put: NewDocument[];
  blobs: NewBlob[];
  once?: NewOnceRecord;
  /** Events and answers on disk whose content is replaced in the same commit. Their places stay. */
  rewrite?: Rewrite[];
  rewriteOnce?: Pick<OnceRecord, "key" | "result">[];
  trim?: Trim;
  /** How far somebody who follows the log has come with it. */
  cursor?: CursorMove;
  /**
   * It is prepared, written and told in slices, so that it never holds the event loop. It is in the log whole or not at all, as every
   * batch; who follows the log hears of it in parts. Nothing of it is `proposed`.
   */
  isLarge?: true;
}

/** A cursor that is elsewhere is a conflict: somebody else follows the log under the same name. */
export interface CursorMove {
  name: string;
  from: Position;
  to: Position;
}

/** What leaves the store for good, all of it in the same commit. */
export interface Trim {
  events: Position[];
  documents: { kind: string; id: string }[];
  /** Documents that stay and are no longer in the lists of the whole tenant. */
  unlisted: string[];
}

export interface Rewrite {
  position: Position;
  payload: object;
  replay?: object | undefined;
}

export interface DocumentQuery {
  kind: string;
  /** What it belongs to; without it, everything that is listed. It decides which index is walked. */
  by?: { workspaceId: string } | { sessionId: string } | { taskId: string } | { ownerId: string } | undefined;
  /** Only documents of these workspaces, and those that belong to none. */
  workspaceIds?: readonly string[] | undefined;
  statuses?: readonly string[] | undefined;
  order: "oldest_first" | "newest_first";
  /** Strictly beyond this document in the chosen order. */
  beyond?: { born: Position; id: string } | undefined;
  /** Only documents born after/through these positions. */
  bornAfter?: Position | undefined;
  bornThrough?: Position | undefined;
  limit: number;
}

/** A search is for documents that have all the words, each perhaps only begun. It has no language: all of it is words. */
export interface SearchQuery {
  kind: string;
  text: string;
  workspaceIds?: readonly string[] | undefined;
  ids?: readonly string[] | undefined;
  ownerIds?: readonly string[] | undefined;
  statuses?: readonly string[] | undefined;
  /** Strictly beyond this document in the order of the ranking. */
  beyond?: { score: number; id: string } | undefined;
  limit: number;
}

/** Documents with the highest rank first, equals with the greater id first. */
export interface RankedQuery {
  kind: string;
  workspaceIds?: readonly string[] | undefined;
  sessionId?: string | undefined;
  label?: string | undefined;
  statuses?: readonly string[] | undefined;
  rankFrom?: number | undefined;
  /** Strictly beyond this document. */
  beyond?: { rank: number; id: string } | undefined;
  limit: number;
}

export interface RankedDocuments {
  documents: (StoredDocument & { rank: number })[];
  /** How many there are before and beyond the page. */
  total: number;
}

export interface FoundDocument extends StoredDocument {
  /** Lower is better; comparable within one query only. */
  score: number;
}

export interface EventQuery {
  after: Position;
  limit: number;
  /** About how many bytes are read at most. The page is shorter then, but has one event at least if there is one. */
  bytesMax?: number | undefined;
  workspaceIds?: readonly string[] | undefined;
  sessionId?: string | undefined;
  taskId?: string | undefined;
  through?: Position | undefined;
  newestFirst?: boolean | undefined;
}

export type CommitListener = (events: readonly StoredEvent[]) => void;

/** What one tenant has. Nothing else is there. */
export interface TenantStore {
  readonly tenantId: string;
  get(kind: string, id: string): Promise<StoredDocument | undefined>;
  /** The same for many at once, in the order of the keys. */
  getMany(keys: readonly { kind: string; id: string }[]): Promise<(StoredDocument | undefined)[]>;
  /** The same without waiting, for what is in memory as it is on disk. Nothing says only that it must be read. */
  known(kind: string, id: string): StoredDocument | undefined;
  /**
   * A document that a commit under way will create; nothing once that is on disk or has failed. Only for what will itself be a
   * commit: commits are in order and ids unique, so what builds on a creation is written after it or, if that fails, not at all.
   * Never to be shown to anybody.
   */
  proposed(kind: string, id: string): StoredDocument | undefined;
  /** The events of the commit under way that will create a document. */
  proposedEvents(id: string): readonly NewEvent[] | undefined;
  list(query: DocumentQuery): Promise<StoredDocument[]>;
  ranked(query: RankedQuery): Promise<RankedDocuments>;
  /** Best first. What has no word in it finds nothing. */
  search(query: SearchQuery): Promise<FoundDocument[]>;
  count(kind: string): Promise<number>;
  events(query: EventQuery): Promise<StoredEvent[]>;
  /** What it takes on disk: its events, and its content. Exact as of the last commit. */
  storedBytes(): Promise<{ log: number; blobs: number }>;
  blob(sha256: string): Promise<Uint8Array | undefined>;
  openBlob(sha256: string): Promise<OpenBlob | undefined>;
}

export interface Store {
  of(tenantId: string): TenantStore;
  /** Resolves once the batch is on disk. Rejects with one of the errors below; nothing was written then, but for `OutcomeUnknown`. */
  commit(batch: Batch): Promise<StoredEvent[]>;
  /** Takes content as it arrives. Rejects with `BlobTooLarge`, `StoreUnavailable`, or the error of its source; nothing is left then. */
  stageBlob(source: AsyncIterable<Uint8Array>, bytesMax: number): Promise<StagedBlob>;
  /** The key is made with the tenant that it is for. */
  once(key: string): Promise<OnceRecord | undefined>;
  /** The last position on disk, 0 for an empty log. */
  head(): Promise<Position>;
  /** Why commits fail now ("disk full"); null while they are taken. */
  writeFault(): string | null;
  /** Why nothing can be read now ("database unreachable"); null while reads are answered. Reads that are under way wait for a while. */
  readFault(): string | null;
  /** Set while the disk has less free space than the operator wants; then nothing that adds data should be committed. */
  shortage(): Shortage | null;
}

export interface Shortage {
  freeBytes: number;
  floorBytes: number;
}

/** Somebody else changed a document first. Read again, decide again. */
export class VersionConflict extends Error {
  override name = "VersionConflict";
}

/** An answer under this idempotency key exists already. Read it and give it. */
export class OnceConflict extends Error {
  override name = "OnceConflict";
}

/** This batch cannot be written, whatever the disk does: what made it has a bug. Nothing of it was written. */
export class BatchFailed extends Error {
  override name = "BatchFailed";
}

/** What is on disk is not what was written. Nothing of it is answered with. */
export class StoreDamaged extends Error {
  override name = "StoreDamaged";

  constructor(file: string, where: { first: Position; last: Position } | { sha256: string }) {
    const what =
      "sha256" in where
        ? `the content ${where.sha256}`
        : `the log at positions ${where.first} to ${where.last}`;
    super(
      `${file} is damaged: ${what} does not match its checksum. "bridle scrub" lists all damage; restore a backup.`,
    );
  }
}

/** The disk failed in the middle of the commit. The batch may or may not be there. */
export class OutcomeUnknown extends Error {
  override name = "OutcomeUnknown";
}

/** The disk, or the thread that writes to it, does not take commits now. Nothing was written. */
export class StoreUnavailable extends Error {
  override name = "StoreUnavailable";
  /** The cause in words that a client may read; null if it is not a fault of the disk. */
  readonly fault: string | null;

  constructor(message?: string, { fault = null, cause }: { fault?: string | null; cause?: unknown } = {}) {
    super(message, { cause });
    this.fault = fault;
  }
}

const faultsByErrno: Readonly<Record<string, string>> = {
  ENOSPC: "disk full",
  EDQUOT: "disk quota exceeded",
  EROFS: "read-only file system",
  EIO: "I/O error",
};

/** What is wrong with the disk, if an error of the operating system says so. */
export function diskFaultOf(error: unknown): string | null {
  if (!(error instanceof Error && "code" in error && typeof error.code === "string")) return null;
  return faultsByErrno[error.code] ?? null;
}
