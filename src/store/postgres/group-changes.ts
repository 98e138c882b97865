/**
 * What a group of batches changes, decided in memory from the state of everything it is about. The state holds still meanwhile: the
 * transaction has locked the head of the log. Each batch succeeds or fails alone; one that fails leaves nothing here.
 */

import { type BatchResult, type BatchRows, type DocumentRow, type LogRow, putOver } from "../batch-rows.ts";
import { type EditedRow, piecesLeft, replaced } from "../log-edits.ts";
import { checksumOf, type SummedRow } from "../log-rows.ts";
import type { NewBlob, NewOnceRecord, Position } from "../port.ts";

/** What has to be known of a document to number its next event and to check its version. */
export interface Head {
  tenantId: string;
  version: number;
  sequence: number;
  lastEvent: Position | null;
}

/** The state that a group is decided from. What is not in it is not there. */
export interface GroupState {
  position: Position;
  heads: ReadonlyMap<string, Head>;
  onceKeys: ReadonlySet<string>;
  cursors: ReadonlyMap<string, Position>;
  /** The rows of the log that hold events which are to be rewritten or removed. */
  rows: readonly SummedRow[];
}

export interface NumberedRow {
  last: Position;
  first: Position;
  numbers: string;
  checksum: number;
  row: LogRow;
}

interface PutDocument {
  document: DocumentRow;
  head: Head;
  /** Set for a document that is not in the table. */
  born: Position | null;
}

/** What is in the way of a batch. */
class Refused extends Error {
  readonly result: BatchResult;

  constructor(result: BatchResult) {
    super();
    this.result = result;
  }
}

const conflict = (about: string) => new Refused({ conflict: "version", about });
const impossible = (failed: string) => new Refused({ failed, fault: null });

export class GroupChanges {
  position: Position;
  readonly log: NumberedRow[] = [];
  readonly documents = new Map<string, PutDocument>();
  /** Documents that are numbered and not put. */
  readonly numbered = new Map<string, Head>();
  readonly deletedDocuments = new Set<string>();
  readonly unlisted = new Set<string>();
  readonly texts = new Map<string, { tenantId: string; kind: string; text: string | null }>();
  readonly blobs: NewBlob[] = [];
  readonly once = new Map<string, NewOnceRecord & { position: Position | null }>();
  readonly onceResults = new Map<string, string>();
  readonly cursors = new Map<string, Position>();
  /** What is left of rows of the log, by the last position that they had. */
  readonly editedRows = new Map<Position, EditedRow[]>();
  readonly #state: GroupState;
  readonly #heads = new Map<string, Head | null>();

  constructor(state: GroupState) {
    this.#state = state;
    this.position = state.position;
  }

  add(batch: BatchRows): BatchResult {
    try {
      this.#check(batch);
      const edits = this.#edit(batch);
      for (const [last, rows] of edits) this.editedRows.set(last, rows);
    } catch (error) {
      if (error instanceof Refused) return error.result;
      return { failed: error instanceof Error ? error.message : String(error), fault: null };
    }
    return this.#apply(batch);
  }

  #head(id: string): Head | undefined {
    const changed = this.#heads.get(id);
    return changed === undefined ? this.#state.heads.get(id) : (changed ?? undefined);
  }

  #check({ expect, cursor, once, put, log }: BatchRows): void {
    for (const [id, version] of expect) {
      if ((this.#head(id)?.version ?? 0) !== version) throw conflict(id);
    }
    if (cursor !== null) {
      const { name, from } = cursor;
      if ((this.cursors.get(name) ?? this.#state.cursors.get(name) ?? 0) !== from) throw conflict(name);
    }
    if (once !== null && (this.once.has(once.key) || this.#state.onceKeys.has(once.key)))
      throw new Refused({ conflict: "once", about: once.key });
    const ids = new Set<string>();
    for (const [id, , tenantId] of put) {
      if ((this.#head(id)?.tenantId ?? tenantId) !== tenantId)
        throw impossible(`${id} is not of ${tenantId}`);
      ids.add(id);
    }
    for (const id of log.flatMap(({ resourceIds }) => resourceIds)) {
      if (!ids.has(id) && this.#head(id) === undefined)
        throw impossible(`An event is about ${id}, which has no document`);
    }
  }

  /** The rows of the log as this batch leaves them, by the last position that they had. */
  #edit({ rewrite, trim }: BatchRows): Map<Position, EditedRow[]> {
    const edits = new Map<Position, EditedRow[]>();
    const change = (position: Position, edit: (row: SummedRow) => EditedRow[]) => {
      const whole = this.#state.rows.find(({ first, last }) => first <= position && position <= last);
      const pieces: SummedRow[] | undefined =
        whole && (edits.get(whole.last) ?? this.editedRows.get(whole.last) ?? [whole]);
      const at = pieces?.findIndex(({ first, last }) => first <= position && position <= last) ?? -1;
      const piece = pieces?.[at];
      if (whole === undefined || pieces === undefined || piece === undefined)
        throw impossible(`There is no event ${position} to change`);
      const rest = (some: readonly SummedRow[]) => some.map((row) => ({ ...row, checksum: checksumOf(row) }));
      edits.set(whole.last, [...rest(pieces.slice(0, at)), ...edit(piece), ...rest(pieces.slice(at + 1))]);
    };
    for (const rewritten of rewrite) change(rewritten.position, (row) => [replaced(row, [rewritten])]);
    for (const position of trim?.events ?? [])
      change(position, (row) => piecesLeft(row, new Set([position])));
    return edits;
  }

  /** Nothing here fails. */
  #apply(batch: BatchRows): BatchResult {
    const first = this.position + 1;
    const { sequences, previous, born } = this.#append(batch);
    if (batch.once !== null)
      this.once.set(batch.once.key, {
        ...batch.once,
        position: sequences.length === 0 ? null : this.position,
      });
    for (const { key, result } of batch.rewriteOnce) this.onceResults.set(key, result);
    for (const { id } of batch.trim?.documents ?? []) this.#delete(id);
    this.blobs.push(...batch.blobs);
    const regained = new Map(batch.regained);
    for (const document of batch.put) {
      const [id, , tenantId] = document;
      const again = regained.get(id);
      const head = again === undefined ? this.#head(id) : { tenantId, version: 0, ...again };
      this.#put(document, head, again?.born ?? born.get(id) ?? first);
    }
    for (const [id, text] of batch.texts) {
      const row = batch.put.find(([putId]) => putId === id);
      if (row !== undefined) this.texts.set(id, { kind: row[1], tenantId: row[2], text });
    }
    for (const id of batch.trim?.unlisted ?? []) this.unlisted.add(id);
    if (batch.cursor !== null) this.cursors.set(batch.cursor.name, batch.cursor.to);
    return { ok: { first, sequences, previous } };
  }

  #append({ log, put }: BatchRows) {
    const tenants = new Map(put.map(([id, , tenantId]) => [id, tenantId]));
    const born = new Map<string, Position>();
    const sequences: number[] = [];
    const previous: (Position | null)[] = [];
    for (const { row, resourceIds } of log) {
      const first = this.position + 1;
      const numbers = resourceIds.map((id): [number, Position | null] => {
        const head = this.#head(id) ?? {
          tenantId: tenants.get(id) ?? "",
          ...{ version: 0, sequence: 0, lastEvent: null },
        };
        this.position += 1;
        this.#number(id, { ...head, sequence: head.sequence + 1, lastEvent: this.position });
        if (!born.has(id)) born.set(id, this.position);
        sequences.push(head.sequence + 1);
        previous.push(head.lastEvent);
        return [head.sequence + 1, head.lastEvent];
      });
      this.log.push(numberedRow(first, this.position, numbers, row));
    }
    return { sequences, previous, born };
  }

  #number(id: string, head: Head): void {
    this.#heads.set(id, head);
    const put = this.documents.get(id);
    if (put !== undefined) put.head = head;
    // One that does not exist yet is put by the same batch.
    else if (head.version > 0) this.numbered.set(id, head);
  }

  #put(document: DocumentRow, before: Head | undefined, born: Position): void {
    const [id, , tenantId] = document;
    const { version = 0, sequence = 0, lastEvent = null } = before ?? {};
    const head = { tenantId, version: version + 1, sequence, lastEvent };
    const earlier = this.documents.get(id);
    this.#heads.set(id, head);
    this.numbered.delete(id);
    this.documents.set(id, {
      document: earlier === undefined ? document : putOver(earlier.document, document),
      head,
      born: earlier === undefined ? (version === 0 ? born : null) : earlier.born,
    });
  }

  #delete(id: string): void {
    this.documents.delete(id);
    this.numbered.delete(id);
    this.texts.delete(id);
    this.unlisted.delete(id);
    this.deletedDocuments.add(id);
    this.#heads.set(id, null);
  }
}

function numberedRow(
  first: Position,
  last: Position,
  counted: readonly (readonly [number, Position | null])[],
  row: LogRow,
): NumberedRow {
  const numbers = JSON.stringify(counted);
  const [events, shared] = [row[7], row.slice(0, 7)];
  return { first, last, numbers, row, checksum: checksumOf({ first, last, shared, numbers, events }) };
}
