/**
 * The documents of a log that was salvaged from a damaged database. If all events are there, every document is folded from them. If not, a
 * document stays as it was stored, and one that cannot be read is folded if none of its own events is lost.
 */

import type { Regained } from "../store/port.ts";
import type { WholeStore } from "../store/whole-store.ts";
import { asKernelEvent } from "./events.ts";
import { type AnyRecord, alsoChanged, changed, created } from "./fold.ts";
import { readLog } from "./log-tail.ts";
import { documentOf, type Folded } from "./rebuild.ts";

export interface SalvagedRecord extends Regained {
  record: AnyRecord | null;
  /** Unknown are those that events speak of and nothing else does; broken ones lack an event. */
  how: "stored" | "folded" | "broken" | "unknown";
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
  onLost(id: string): void;
}

const writtenAtOnce = 200;

/** Writes them, and gives their number. */
export async function salvageDocuments({ store, table, stored, onLost }: SalvageOptions): Promise<number> {
  for (const folded of stored) table.set(folded.record.id, { ...folded, how: "stored" });
  await foldTolerantly(store, table);
  let count = 0;
  let page: Folded[] = [];
  const write = async () => {
    count += page.length;
    await writeDocuments(store, page);
    page = [];
  };
  for (const [id, { how, record, ...place }] of table.entries()) {
    if (record === null || how === "broken") onLost(id);
    else page.push({ record, ...place });
    if (page.length === writtenAtOnce) await write();
  }
  await write();
  return count;
}

async function foldTolerantly(store: WholeStore, table: SalvagedTable): Promise<void> {
  for await (const events of readLog(store, { after: 0 })) {
    for (const stored of events) {
      const { position, sequence } = stored;
      const event = asKernelEvent(stored);
      for (const record of created(event)) {
        if (table.get(record.id)?.how === "stored") continue;
        table.set(record.id, { record, born: position, sequence: 0, lastEvent: null, how: "folded" });
      }
      for (const id of [event.resource.id, ...alsoChanged(event)]) {
        const current = table.get(id) ?? unknown;
        if (current.how === "stored") continue;
        const isOwn = id === event.resource.id;
        const isBroken = isOwn && current.how === "folded" && sequence !== current.sequence + 1;
        const record = current.record === null ? null : changed(current.record, event);
        const place = isOwn ? { sequence, lastEvent: position } : {};
        table.set(id, { ...current, ...place, record, how: isBroken ? "broken" : current.how });
      }
    }
  }
}

const unknown: SalvagedRecord = { record: null, born: 0, sequence: 0, lastEvent: null, how: "unknown" };

async function writeDocuments(store: WholeStore, page: readonly Folded[]): Promise<void> {
  if (page.length === 0) return;
  const put = page.map((folded) => documentOf(folded, true));
  const expect = put.map(({ kind, id }) => ({ kind, id, version: 0 }));
  await store.commit({ expect, events: [], put, blobs: [] });
}
