/**
 * Looks through a database for damage: its pages, the checksums and numbers of the log, documents against the log, content against its
 * hash. Reads in small pages, so that a server may go on writing meanwhile.
 */

import { createHash, hash } from "node:crypto";
import { createReadStream, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type Row, toEvents } from "../log-rows.ts";
import { type Position, StoreDamaged, type StoredEvent } from "../port.ts";
import { bodyIn, DocumentBodies, isInLog } from "./document-body.ts";
import { openReadOnly } from "./read-only.ts";
import { knownSchema } from "./schema.ts";

export interface Damage {
  file: string;
  what: "page" | "event" | "document" | "content";
  /** The position, the id or the hash. */
  where: string;
  problem: string;
}

export interface DatabaseExamination {
  events: number;
  /** Rows from before there were checksums. */
  uncheckedRows: number;
  documents: number;
  contents: number;
}

export type OnDamage = (damage: Damage) => void;

const pageSize = 500;
const pageProblemsMax = 20;

export class DatabaseExaminer {
  readonly #directory: string;
  readonly #file: string;
  readonly #db: DatabaseSync;
  readonly #onDamage: OnDamage;
  readonly #onProgress: (events: Position, head: Position) => void;

  constructor(directory: string, onDamage: OnDamage, onProgress: (done: number, total: number) => void) {
    this.#directory = directory;
    this.#file = join(directory, "bridle.db");
    this.#db = openReadOnly(this.#file);
    this.#onDamage = onDamage;
    this.#onProgress = onProgress;
    knownSchema(this.#db);
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }

  async examine(): Promise<DatabaseExamination> {
    this.#examinePages();
    const log = this.#examineLog();
    const documents = this.#examineDocuments();
    return { ...log, documents, contents: await this.#examineContents() };
  }

  #found(what: Damage["what"], where: string, problem: unknown): void {
    const text = problem instanceof Error ? problem.message : String(problem);
    this.#onDamage({ file: this.#file, what, where, problem: text });
  }

  #examinePages(): void {
    try {
      for (const row of this.#db.prepare(`PRAGMA integrity_check(${pageProblemsMax})`).iterate()) {
        const problem = String(row.integrity_check);
        if (problem !== "ok") this.#found("page", /page (\d+)/i.exec(problem)?.[1] ?? "", problem);
      }
    } catch (error) {
      this.#found("page", "", error);
    }
  }

  #examineLog(): Pick<DatabaseExamination, "events" | "uncheckedRows"> {
    const examined = { events: 0, uncheckedRows: 0 };
    const head = lastPosition(this.#db);
    for (const row of this.#rows("log", "last", "event", 0)) {
      try {
        const events = toEvents(row, this.#file);
        examined.events += events.length;
        if (row.checksum === null) examined.uncheckedRows += 1;
        const count = Number(row.last) - Number(row.first) + 1;
        if (events.length !== count) throw new Error(`it has ${events.length} events instead of ${count}`);
      } catch (error) {
        this.#found("event", String(row.last), error);
      }
      this.#onProgress(Number(row.last), head);
    }
    return examined;
  }

  #examineDocuments(): number {
    const find = this.#db.prepare("SELECT * FROM log WHERE last >= ? AND first <= ? ORDER BY last LIMIT 1");
    const bodies = new DocumentBodies(this.#db);
    let count = 0;
    for (const row of this.#rows("documents", "id", "document", "")) {
      count += 1;
      const problem = documentProblem(row, bodies, (position) => find.get(position, position), this.#file);
      if (problem !== null) this.#found("document", String(row.id), problem);
    }
    return count;
  }

  async #examineContents(): Promise<number> {
    let count = 0;
    for (const { sha256, bytes } of this.#rows("blobs", "sha256", "content", "")) {
      count += 1;
      const isRight = bytes instanceof Uint8Array && hash("sha256", bytes) === sha256;
      if (!isRight) this.#found("content", String(sha256), "it does not match its hash");
    }
    for (const file of blobFilesIn(this.#directory)) {
      count += 1;
      const sha256 = file.slice(-64);
      if ((await hashOfFile(file)) !== sha256) {
        this.#onDamage({ file, what: "content", where: sha256, problem: "it does not match its hash" });
      }
    }
    this.#findMissingContents();
    return count;
  }

  /** Hashes of content elsewhere are noted as well; content that was here is named as `blob` by what refers to it. */
  #findMissingContents(): void {
    const isHere = this.#db.prepare("SELECT 1 FROM blobs WHERE sha256 = ?");
    for (const row of this.#rows("blob_owners", "sha256", "content", "")) {
      const sha256 = String(row.sha256);
      if (isHere.get(sha256) !== undefined || existsSync(blobFile(this.#directory, sha256))) continue;
      if (this.#isNeeded(`"blob":"${sha256}"`)) this.#found("content", sha256, "it is missing");
    }
  }

  /** Whether a document has this text, itself or in the event that it is in. */
  #isNeeded(text: string): boolean {
    if (this.#db.prepare("SELECT 1 FROM documents WHERE instr(body, ?) LIMIT 1").get(text) !== undefined)
      return true;
    const find = this.#db.prepare("SELECT body FROM documents WHERE id = ? AND born = ?");
    for (const row of this.#db.prepare("SELECT * FROM log WHERE instr(events, ?)").iterate(text)) {
      for (const { resource, position, payload } of intactEvents(row, this.#file)) {
        const body = find.get(resource.id, position)?.body;
        if (typeof body !== "string" || !isInLog(body)) continue;
        if (JSON.stringify(bodyIn({ payload }, body)).includes(text)) return true;
      }
    }
    return false;
  }

  /** All rows of a table by its key, each page a read of its own; ends at damage that SQLite cannot read past. */
  *#rows(table: string, key: string, what: Damage["what"], from: number | string): Generator<Row> {
    const read = this.#db.prepare(
      `SELECT * FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${pageSize}`,
    );
    for (let after = from; ; ) {
      let page: Row[];
      try {
        page = read.all(after);
      } catch (error) {
        this.#found(what, `after ${after}`, error);
        return;
      }
      yield* page;
      const last = page.at(-1)?.[key];
      if (page.length < pageSize || last == null || last instanceof Uint8Array) return;
      after = typeof last === "string" ? last : Number(last);
    }
  }
}

/** Damage is reported where the log is examined. */
function intactEvents(row: Row, file: string): StoredEvent[] {
  try {
    return toEvents(row, file);
  } catch {
    return [];
  }
}

function documentProblem(
  { id, body = null, born = null, sequence, last_event: lastEvent }: Row,
  bodies: DocumentBodies,
  rowAt: (position: number) => Row | undefined,
  file: string,
): string | null {
  try {
    bodies.read({ body, born });
  } catch (error) {
    // The event is reported already.
    if (error instanceof StoreDamaged) return null;
    return error instanceof SyntaxError ? "it is no JSON" : "the event that it is in is missing";
  }
  if (lastEvent === null) return null;
  const position = Number(lastEvent);
  const row = rowAt(position);
  // What has left by age leaves documents behind.
  if (row === undefined) return null;
  try {
    const event = toEvents(row, file).find((one) => one.position === position);
    if (event === undefined || event.resource.id !== id) return `event ${position} is not about it`;
    return event.sequence === Number(sequence) ? null : `event ${position} has another number`;
  } catch {
    // It is reported as an event already.
    return null;
  }
}

export function lastPosition(db: DatabaseSync): Position {
  return Number(db.prepare("SELECT coalesce(max(last), 0) AS head FROM log").get()?.head ?? 0);
}

function blobFile(directory: string, sha256: string): string {
  return join(directory, "blobs", sha256.slice(0, 2), sha256);
}

export function* blobFilesIn(directory: string): Generator<string> {
  const blobs = join(directory, "blobs");
  if (!existsSync(blobs)) return;
  for (const folder of readdirSync(blobs)) {
    if (!/^[0-9a-f]{2}$/.test(folder)) continue;
    for (const name of readdirSync(join(blobs, folder))) {
      if (/^[0-9a-f]{64}$/.test(name)) yield join(blobs, folder, name);
    }
  }
}

export async function hashOfFile(file: string): Promise<string> {
  const sum = createHash("sha256");
  for await (const chunk of createReadStream(file)) sum.update(chunk);
  return sum.digest("hex");
}
