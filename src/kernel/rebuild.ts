/**
 * Folds every document again from the whole log: what the documents must be, if the log is the truth. And puts them right where they
 * are not.
 */

import { isDeepStrictEqual } from "node:util";
import type { Position, Regained } from "../store/port.ts";
import type { WholeStore } from "../store/whole-store.ts";
import { asKernelEvent } from "./events.ts";
import { type AnyRecord, alsoChanged, changed, created, indexOf } from "./fold.ts";
import { readLog } from "./log-tail.ts";
import { readPages } from "./read-pages.ts";

/** A record, and where it stands among the events. */
interface Folded extends Regained {
  record: AnyRecord;
}

export async function refold(store: WholeStore): Promise<Map<string, AnyRecord>> {
  const folded = await refoldWithPlaces(store);
  return new Map([...folded].map(([id, { record }]) => [id, record]));
}

async function refoldWithPlaces(
  store: WholeStore,
  onEvent: (position: Position) => void = () => {},
): Promise<Map<string, Folded>> {
  const records = new Map<string, Folded>();
  for await (const events of readLog(store, { after: 0 })) {
    for (const stored of events) {
      const { position, sequence } = stored;
      const event = asKernelEvent(stored);
      for (const record of created(event)) {
        records.set(record.id, { record, born: position, sequence: 0, lastEvent: null });
      }
      for (const id of [event.resource.id, ...alsoChanged(event)]) {
        const current = records.get(id);
        if (current === undefined) throw new Error(`Event ${position} changes ${id}, unknown`);
        current.record = changed(current.record, event);
        if (id === event.resource.id) Object.assign(current, { sequence, lastEvent: position });
      }
      onEvent(position);
    }
  }
  return records;
}

export interface Difference {
  kind: string;
  id: string;
  /** Not there; other than its events say; or there without events. */
  what: "missing" | "different" | "unfounded";
}

export interface Rebuilt {
  documents: number;
  events: number;
  differences: Difference[];
  /** Puts all of them right, in one commit. */
  repair(): Promise<void>;
}

const pageSize = 1000;

/** Nothing else may use the store meanwhile. */
export async function compareWithLog(
  store: WholeStore,
  onProgress: { folded(position: Position): void; compared(documents: number, total: number): void },
): Promise<Rebuilt> {
  let events = 0;
  const folded = await refoldWithPlaces(store, (position) => {
    events += 1;
    onProgress.folded(position);
  });
  const differences: Difference[] = [];
  let compared = 0;
  for (const [id, { record }] of folded) {
    const { object: kind } = record;
    const stored = await store.get(kind, id);
    if (stored === undefined) differences.push({ kind, id, what: "missing" });
    else if (!isDeepStrictEqual(stored.body, asStored(record)))
      differences.push({ kind, id, what: "different" });
    compared += 1;
    onProgress.compared(compared, folded.size);
  }
  for await (const { kind, id } of everyId(store)) {
    if (folded.get(id)?.record.object !== kind) differences.push({ kind, id, what: "unfounded" });
  }
  return { documents: folded.size, events, differences, repair: () => repair(store, folded, differences) };
}

async function* everyId(store: WholeStore): AsyncGenerator<{ kind: string; id: string }> {
  const pages = readPages<{ kind: string; id: string }>((last) =>
    store.ids({ afterId: last?.id ?? "", limit: pageSize }),
  );
  for await (const page of pages) yield* page;
}

async function repair(
  store: WholeStore,
  folded: ReadonlyMap<string, Folded>,
  differences: readonly Difference[],
): Promise<void> {
  if (differences.length === 0) return;
  const expect = await Promise.all(
    differences
      .filter(({ what }) => what !== "unfounded")
      .map(async ({ kind, id }) => ({ kind, id, version: (await store.get(kind, id))?.version ?? 0 })),
  );
  const put = expect.flatMap(({ id, version }) => {
    const found = folded.get(id);
    if (found === undefined) return [];
    const { record, ...regained } = found;
    const document = { kind: record.object, id, index: indexOf(record), body: record };
    return [version === 0 ? { ...document, regained } : document];
  });
  const documents = differences
    .filter(({ what }) => what === "unfounded")
    .map(({ kind, id }) => ({ kind, id }));
  await store.commit({ expect, events: [], put, blobs: [], trim: { events: [], documents, unlisted: [] } });
}

/** Through JSON, as the stored one went: a field that is undefined is a field that is not there. */
function asStored(record: AnyRecord): unknown {
  return JSON.parse(JSON.stringify(record));
}
