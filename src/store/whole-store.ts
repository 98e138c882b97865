/**
 * The port of those who look after all tenants: recovery, timers, sweepers, erasure, metrics, tools of the operator. No surface and
 * no command imports it (`test/layers.test.ts`).
 */

import type {
  CommitListener,
  DocumentQuery,
  EventQuery,
  OnceRecord,
  Position,
  Store,
  StoredDocument,
  StoredEvent,
  TenantStore,
} from "./port.ts";

/** The documents due in a window of time, in the order in which they became due. */
export interface DueQuery {
  kind: string;
  after: { wakeAt: number; id: string };
  through: number;
  limit: number;
}

/** What every store has to know how to do; a tenant's view is made of it. */
export interface WholeReads {
  get(kind: string, id: string): Promise<StoredDocument | undefined>;
  /** Not for many documents. */
  list(query: DocumentQuery): Promise<StoredDocument[]>;
  events(query: EventQuery): Promise<StoredEvent[]>;
  due(query: DueQuery): Promise<{ id: string; wakeAt: number }[]>;
  /** Every document, listed or not, in the order of their ids. */
  documents(query: { afterId: string; limit: number }): Promise<StoredDocument[]>;
  /** The position up to which somebody has followed the log; 0 at first. */
  cursor(name: string): Promise<Position>;
  /** Every tenant that there is. */
  tenantIds(): Promise<string[]>;
  /** Idempotency records whose answer has this text in it, in the order of their keys. */
  onceWith(query: { text: string; afterKey: string; limit: number }): Promise<OnceRecord[]>;
}

export interface WholeStore extends Store, WholeReads {
  /**
   * Drops those of the blobs that no event after a position mentions, and gives those that it kept for that reason. The
   * caller knows that no event up to there speaks of them.
   */
  dropBlobs(request: {
    sha256s: string[];
    scannedThrough: Position;
  }): Promise<{ kept: string[]; count: number; bytes: number }>;
  /** Once it resolves, nothing that was replaced or dropped before is left in any file of the store. */
  scrub(): Promise<void>;
  /** Drops idempotency records that expired before this time; gives their number. */
  forgetOnce(before: number): Promise<number>;
  /** Calls back after every commit, in log order, with what was committed. Returns the way to stop. */
  follow(listener: CommitListener): () => void;
  close(): Promise<void>;
}

/** A document, if it is the tenant's. */
export function ofTenant<D extends { tenantId: string }>(
  tenantId: string,
  document: D | undefined,
): D | undefined {
  return document?.tenantId === tenantId ? document : undefined;
}

/** The views of tenants, made once each. */
export function tenantViews(make: (tenantId: string) => TenantStore): (tenantId: string) => TenantStore {
  const views = new Map<string, TenantStore>();
  return (tenantId) => {
    const known = views.get(tenantId) ?? make(tenantId);
    if (views.size < viewsMax) views.set(tenantId, known);
    return known;
  };
}

/** More than a server has at once; a view is cheap to make again. */
const viewsMax = 1000;
