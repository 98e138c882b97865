/**
 * Copies all that one store holds to another of a different kind, row by row: positions, versions, keys and checksums stay. What is
 * copied already is left out, so a copy that was interrupted goes on where it was. Nothing else may use either store meanwhile.
 */

import { createHash } from "node:crypto";
import type { Row } from "./log-rows.ts";
import type { Position, StoredEvent } from "./port.ts";

/** Tables with the columns that both stores have, the key first. Read and written in the order of the key. */
export const copiedTables = {
  log: {
    key: ["last"],
    rest: [
      ...["first", "tenant_id", "workspace_id", "session_id", "task_id", "actor", "key_id", "created_at"],
      ...["events", "numbers", "checksum"],
    ],
  },
  documents: {
    key: ["id"],
    rest: [
      ...["kind", "tenant_id", "listed_in", "version", "sequence", "last_event", "born", "workspace_id"],
      ...["session_id", "task_id", "owner_id", "status", "wake_at", "rank", "label", "body"],
    ],
  },
  once: { key: ["key"], rest: ["fingerprint", "result", "position", "expires_at"] },
  cursors: { key: ["name"], rest: ["position"] },
  blob_owners: { key: ["sha256", "tenant_id"], rest: ["bytes"] },
} as const satisfies Record<string, { key: string[]; rest: string[] }>;

/** A cursor that marks an unfinished copy; it holds the end of the log that is copied. No server starts on such a store. */
export const copyMarker = "copy";

export type CopiedTable = keyof typeof copiedTables;

export type Key = readonly (string | number)[];

export interface CopySource {
  /** How many rows there are, about. */
  count(table: CopiedTable): Promise<number>;
  /** Strictly beyond a key. Documents have their body whole; rows of the log have a checksum. */
  page(table: CopiedTable, beyond: Key | null, limit: number): Promise<Row[]>;
  /** The hashes of all content. */
  contentHashes(): Promise<string[]>;
  content(sha256: string): AsyncIterable<Uint8Array>;
  events(after: Position, limit: number): Promise<StoredEvent[]>;
  head(): Promise<Position>;
}

export interface CopyTarget extends Pick<CopySource, "events" | "head"> {
  /** Refuses a store that holds anything but an interrupted copy of the same log. */
  begin(head: Position): Promise<void>;
  lastKey(table: CopiedTable): Promise<Key | null>;
  write(table: CopiedTable, rows: readonly Row[]): Promise<void>;
  hasContent(sha256: string): Promise<boolean>;
  addContent(sha256: string, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  /** From here on a server may use it. */
  finish(head: Position): Promise<void>;
}

export interface CopyReport {
  events: number;
  rows: Record<CopiedTable, number>;
  contents: number;
  /** SHA-256 over all events, the same on both sides. */
  logHash: string;
}

/** A copy that is not what it was made of. */
export class CopyDiffers extends Error {
  override name = "CopyDiffers";
}

const pageSize = 500;

export async function copyStore(
  source: CopySource,
  target: CopyTarget,
  onProgress: (what: string, done: number, total: number) => void,
): Promise<CopyReport> {
  const cursors = await source.page("cursors", null, pageSize);
  if (cursors.some(({ name }) => name === copyMarker))
    throw new Error("The source is an unfinished copy itself.");
  const head = await source.head();
  await target.begin(head);
  const contents = await copyContents(source, target, onProgress);
  const rows = { log: 0, documents: 0, once: 0, cursors: 0, blob_owners: 0 };
  for (const table of tableNames()) rows[table] = await copyTable(source, target, table, onProgress);
  const [mine, theirs] = [await hashLog(source), await hashLog(target)];
  if (mine.hash !== theirs.hash)
    throw new CopyDiffers(
      `The copy has ${theirs.events} events with the hash ${theirs.hash}, the original ${mine.events} with ${mine.hash}. Delete the copy and repeat.`,
    );
  await target.finish(head);
  return { events: mine.events, rows, contents, logHash: mine.hash };
}

function tableNames(): CopiedTable[] {
  return ["log", "documents", "once", "cursors", "blob_owners"];
}

async function copyContents(
  source: CopySource,
  target: CopyTarget,
  onProgress: (what: string, done: number, total: number) => void,
): Promise<number> {
  const hashes = await source.contentHashes();
  for (const [n, sha256] of hashes.entries()) {
    if (!(await target.hasContent(sha256))) await target.addContent(sha256, source.content(sha256));
    onProgress("contents copied", n + 1, hashes.length);
  }
  return hashes.length;
}

async function copyTable(
  source: CopySource,
  target: CopyTarget,
  table: CopiedTable,
  onProgress: (what: string, done: number, total: number) => void,
): Promise<number> {
  const total = await source.count(table);
  const { key } = copiedTables[table];
  let beyond = await target.lastKey(table);
  for (let done = 0; ; ) {
    const rows = await source.page(table, beyond, pageSize);
    const last = rows.at(-1);
    if (last === undefined) return total;
    await target.write(table, rows);
    beyond = key.map((column) => keyValue(last[column]));
    done += rows.length;
    onProgress(`rows of ${table} copied`, done, total);
  }
}

function keyValue(value: Row[string] | undefined): string | number {
  return typeof value === "string" ? value : Number(value);
}

async function hashLog(end: Pick<CopySource, "events">): Promise<{ events: number; hash: string }> {
  const sum = createHash("sha256");
  let [count, after] = [0, 0];
  while (true) {
    const page = await end.events(after, pageSize);
    const last = page.at(-1);
    if (last === undefined) return { events: count, hash: sum.digest("hex") };
    for (const event of page) sum.update(JSON.stringify(event)).update("\n");
    count += page.length;
    after = last.position;
  }
}
