/**
 * A document that is still what its first event made it is not written a second time: in place of JSON, its row holds the name of the
 * member of that event's payload that is the document. The event is the one at the position that the document was born at. The next
 * commit that puts the document writes it whole.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Placed } from "../batch-rows.ts";
import { type Row, toEvents, type Value } from "../log-rows.ts";
import type { NewDocument, Position, StoredEvent } from "../port.ts";

/** To read one document, the whole row of its event is parsed; a list has hundreds of documents. */
const eventsInRowMax = 8;

/** Where a body is in its first event; null when it has to be written. */
export function memberOf(document: NewDocument, first: Placed | undefined): string | null {
  // A document that is made again may stand elsewhere in the log.
  if (first === undefined || document.regained !== undefined || first.inRow > eventsInRowMax) return null;
  for (const [name, value] of Object.entries(first.event.payload)) if (value === document.body) return name;
  return null;
}

/** About what a body in the log takes; larger content is in blobs. */
const inLogBytes = 1000;

/** About how long a body is as JSON. */
export function bytesOf(body: string): number {
  return isInLog(body) ? inLogBytes : body.length;
}

export function isInLog(body: string): boolean {
  return !body.startsWith("{");
}

/** The document in the payload of its first event. Throws when it is not there. */
export function bodyIn(event: Pick<StoredEvent, "payload"> | undefined, member: string): unknown {
  const entry = Object.entries(event?.payload ?? {}).find(([name]) => name === member);
  if (entry === undefined) throw new Error(`the event that has its ${member} is missing`);
  return entry[1];
}

export class DocumentBodies {
  readonly #file: string;
  readonly #rowAt: StatementSync;

  constructor(db: DatabaseSync) {
    this.#file = db.location() ?? "";
    this.#rowAt = db.prepare("SELECT * FROM log WHERE last >= ? AND first <= ? ORDER BY last LIMIT 1");
  }

  read({ body, born }: Record<"body" | "born", Value>): unknown {
    const text = String(body);
    return isInLog(text) ? this.#inLog(text, Number(born)) : JSON.parse(text);
  }

  #inLog(member: string, position: Position): unknown {
    const row: Row | undefined = this.#rowAt.get(position, position);
    const events = row === undefined ? [] : toEvents(row, this.#file);
    return bodyIn(
      events.find((event) => event.position === position),
      member,
    );
  }
}
