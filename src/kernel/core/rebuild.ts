/**
 * Folds every document again from the whole log: what the documents must be, if the log is the truth. And puts them right where they
 * are not. What is folded is kept in a table of the caller's, which need not be in memory.
 */

import { isDeepStrictEqual } from "node:util";
import type { NewDocument, Position, Regained, StoredDocument } from "../../store/port.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import { asKernelEvent } from "./events.ts";
import { type AnyRecord, alsoChanged, changed, created, indexOf } from "./fold.ts";
import { readLog } from "./log-tail.ts";
import { readPages } from "./read-pages.ts";

/** A record, and where it stands among the events. */
export interface Folded extends Regained {
  record: AnyRecord;
}

export interface FoldedTable {
  readonly size: number;
  get(id: string): Folded | undefined;
  set(id: string, folded: Folded): unknown;
}

/** In the order of ids, as the store has them. */
export interface SortedFoldedTable extends FoldedTable {
  entries(): Iterable<[id: string, folded: Folded]>;
}

export async function refold(store: WholeStore): Promise<Map<string, AnyRecord>> {
  const folded = new Map<string, Folded>();
  await foldInto(store, folded);
  return new Map([...folded].map(([id, { record }]) => [id, record]));
}

async function foldInto(
  store: WholeStore,
  folded: FoldedTable,
  onEvent: (position: Position) => void = () => {},
): Promise<void> {
  for await (const events of readLog(store, { after: 0 })) {
    for (const stored of events) {
      const { position, sequence } = stored;
      const event = asKernelEvent(stored);
      for (const record of created(event)) {
        folded.set(record.id, { record, born: position, sequence: 0, lastEvent: null });
      }
      for (const id of [event.resource.id, ...alsoChanged(event)]) {
        const current = folded.get(id);
        if (current === undefined) throw new Error(`Event ${position} changes ${id}, unknown`);
        const place = id === event.resource.id ? { sequence, lastEvent: position } : {};
        folded.set(id, { ...current, ...place, record: changed(current.record, event) });
      }
      onEvent(position);
    }
  }
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
  differenceCount: number;
  /** The first of them. */
  differences: Difference[];
  /** Puts all of them right. After a crash in the middle it can be repeated. */
  repair(): Promise<void>;
}

/** Documents can be large. */
const pageSize = 200;
/** As many differences as are listed. */
const listedMax = 10_000;
/** Documents that are put right in one commit. */
const repairedAtOnce = 200;

/** Nothing else may use the store meanwhile. */
export async function compareWithLog(
  store: WholeStore,
  folded: SortedFoldedTable,
  onProgress: { folded(position: Position): void; compared(documents: number, total: number): void },
): Promise<Rebuilt> {
  let events = 0;
  await foldInto(store, folded, (position) => {
    events += 1;
    onProgress.folded(position);
  });
  const differences: Difference[] = [];
  let differenceCount = 0;
  const onCompared = (compared: number) => onProgress.compared(compared, folded.size);
  for await (const { difference } of compare(store, folded, onCompared)) {
    differenceCount += 1;
    if (differences.length < listedMax) differences.push(difference);
  }
  const repair = async () => (differenceCount === 0 ? undefined : await repairAll(store, folded));
  return { documents: folded.size, events, differenceCount, differences, repair };
}

interface Compared {
  difference: Difference;
  /** What it must be; null for what must not be there. */
  folded: Folded | null;
}

/** Goes through both side by side, in the order of ids. */
async function* compare(
  store: WholeStore,
  folded: SortedFoldedTable,
  onCompared: (documents: number) => void,
): AsyncGenerator<Compared> {
  const stored = everyDocument(store);
  let next = await stored.next();
  let compared = 0;
  for (const [id, one] of folded.entries()) {
    for (; next.done !== true && next.value.id < id; next = await stored.next()) yield unfounded(next.value);
    const found = next.done !== true && next.value.id === id ? next.value : undefined;
    if (found !== undefined) next = await stored.next();
    yield* compareOne(one, found);
    compared += 1;
    onCompared(compared);
  }
  for (; next.done !== true; next = await stored.next()) yield unfounded(next.value);
}

function* compareOne(folded: Folded, found: StoredDocument | undefined): Generator<Compared> {
  const { object: kind, id } = folded.record;
  const isOfKind = found?.kind === kind;
  if (found !== undefined && !isOfKind) yield unfounded(found);
  if (!isOfKind) yield { difference: { kind, id, what: "missing" }, folded };
  else if (!isDeepStrictEqual(found.body, asStored(folded.record)))
    yield { difference: { kind, id, what: "different" }, folded };
}

function unfounded({ kind, id }: StoredDocument): Compared {
  return { difference: { kind, id, what: "unfounded" }, folded: null };
}

async function* everyDocument(store: WholeStore): AsyncGenerator<StoredDocument> {
  const pages = readPages<StoredDocument>((last) =>
    store.documents({ afterId: last?.id ?? "", limit: pageSize }),
  );
  for await (const page of pages) yield* page;
}

async function repairAll(store: WholeStore, folded: SortedFoldedTable): Promise<void> {
  let page: Compared[] = [];
  for await (const one of compare(store, folded, () => {})) {
    page.push(one);
    if (page.length < repairedAtOnce) continue;
    await repair(store, page);
    page = [];
  }
  await repair(store, page);
}

async function repair(store: WholeStore, page: readonly Compared[]): Promise<void> {
  if (page.length === 0) return;
  const founded = page.flatMap(({ folded }) => (folded === null ? [] : [folded]));
  const expect = await Promise.all(
    founded.map(async ({ record: { object: kind, id } }) => {
      const version = (await store.get(kind, id))?.version ?? 0;
      return { kind, id, version };
    }),
  );
  const put = founded.map((folded, index) => documentOf(folded, expect[index]?.version === 0));
  const documents = page.flatMap(({ difference: { kind, id, what } }) =>
    what === "unfounded" ? [{ kind, id }] : [],
  );
  await store.commit({ expect, events: [], put, blobs: [], trim: { events: [], documents, unlisted: [] } });
}

/** A document that was lost has to be told where it stands. */
export function documentOf({ record, ...regained }: Folded, wasLost: boolean): NewDocument {
  const document = { kind: record.object, id: record.id, index: indexOf(record), body: record };
  return wasLost ? { ...document, regained } : document;
}

/** Through JSON, as the stored one went: a field that is undefined is a field that is not there. */
export function asStored(record: AnyRecord): unknown {
  return JSON.parse(JSON.stringify(record));
}
