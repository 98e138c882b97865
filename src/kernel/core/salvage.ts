/**
 * The documents of a log that was salvaged from a damaged database: folded from their events. Where events are lost, a document that cannot
 * be folded stays as it was stored, and is named as not backed by events.
 */

import { isDeepStrictEqual } from "node:util";
import type { Regained, StoredEvent } from "../../store/port.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import { asKernelEvent } from "./events.ts";
import { type AnyRecord, alsoChanged, changed, created } from "./fold.ts";
import { readLog } from "./log-tail.ts";
import { asStored, documentOf, type Folded } from "./rebuild.ts";

export interface SalvagedRecord extends Regained {
  record: AnyRecord | null;
  /** Unknown are those that events speak of and none creates; broken ones lack an event. */
  how: "folded" | "broken" | "unknown";
  stored: Folded | null;
}

export interface SalvagedTable {
  get(id: string): SalvagedRecord | undefined;
  set(id: string, salvaged: SalvagedRecord): unknown;
  entries(): Iterable<[id: string, salvaged: SalvagedRecord]>;
}

export interface SalvageOptions {
  /** A store with the events and without documents. */
  store: WholeStore;
  table: SalvagedTable;
  /** The documents that can be read; none when they are to be folded. */
  stored: Iterable<Folded>;
  /** What is neither stored nor can be folded. */
  onLost(id: string): void;
  /** What was stored otherwise than its events say, all of which are there: they count. */
  onContradicted(id: string): void;
  /** What stays as it was stored, since events of it are lost. */
  onNotBacked(id: string): void;
}

const writtenAtOnce = 200;

/** Writes them, and gives their number. */
export async function salvageDocuments({ store, table, stored, ...told }: SalvageOptions): Promise<number> {
  for (const each of stored) table.set(each.record.id, { ...unknown, stored: each });
  await foldTolerantly(store, table);
  let count = 0;
  let page: Folded[] = [];
  const write = async () => {
    count += page.length;
    await writeDocuments(store, page);
    page = [];
  };
  for (const [id, salvaged] of table.entries()) {
    const kept = keptOf(id, salvaged, told);
    if (kept !== null) page.push(kept);
    if (page.length === writtenAtOnce) await write();
  }
  await write();
  return count;
}

type Told = Pick<SalvageOptions, "onContradicted" | "onLost" | "onNotBacked">;

function keptOf(id: string, { how, record, stored, ...place }: SalvagedRecord, told: Told): Folded | null {
  const folded = record === null ? null : { record, ...place };
  if (stored === null) {
    if (folded !== null && how === "folded") return folded;
    told.onLost(id);
    return null;
  }
  if (folded !== null && isDeepStrictEqual(asStored(folded.record), stored.record)) return stored;
  // Events about other things change a chain of receipts, so nobody knows whether all are there.
  const isWhole =
    how === "folded" && stored.record.object !== "receipt_chain" && place.sequence >= stored.sequence;
  if (folded !== null && isWhole) {
    told.onContradicted(id);
    return folded;
  }
  told.onNotBacked(id);
  return stored;
}

async function foldTolerantly(store: WholeStore, table: SalvagedTable): Promise<void> {
  for await (const events of readLog(store, { after: 0 })) {
    for (const event of events) foldOne(event, table);
  }
}

function foldOne(recorded: StoredEvent, table: SalvagedTable): void {
  const { position, sequence } = recorded;
  const event = asKernelEvent(recorded);
  for (const record of created(event)) {
    const stored = table.get(record.id)?.stored ?? null;
    table.set(record.id, { record, born: position, sequence: 0, lastEvent: null, how: "folded", stored });
  }
  for (const id of [event.resource.id, ...alsoChanged(event)]) {
    const current = table.get(id) ?? unknown;
    const isOwn = id === event.resource.id;
    const isBroken = isOwn && current.how === "folded" && sequence !== current.sequence + 1;
    const record = current.record === null ? null : changed(current.record, event);
    const place = isOwn ? { sequence, lastEvent: position } : {};
    table.set(id, { ...current, ...place, record, how: isBroken ? "broken" : current.how });
  }
}

const unknown: SalvagedRecord = {
  ...{ record: null, born: 0, sequence: 0, lastEvent: null },
  how: "unknown",
  stored: null,
};

async function writeDocuments(store: WholeStore, page: readonly Folded[]): Promise<void> {
  if (page.length === 0) return;
  const put = page.map((folded) => documentOf(folded, true));
  const expect = put.map(({ kind, id }) => ({ kind, id, version: 0 }));
  await store.commit({ expect, events: [], put, blobs: [] });
}
