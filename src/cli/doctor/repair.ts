/** `bridle doctor --repair --to DIR`: everything that is intact in a damaged data directory, in a new one. */

import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { setFlagsFromString } from "node:v8";
import type { AnyRecord } from "../../kernel/core/fold.ts";
import type { Folded } from "../../kernel/core/rebuild.ts";
import { type SalvagedRecord, salvageDocuments } from "../../kernel/core/salvage.ts";
import type { Row } from "../../store/log-rows.ts";
import { blobFilesIn, type Damage, hashOfFile } from "../../store/sqlite/examine-database.ts";
import { lockDirectory } from "../../store/sqlite/lock.ts";
import { openSqliteStore } from "../../store/sqlite/open.ts";
import { openProblem } from "../../store/sqlite/open-problems.ts";
import { Salvage, type SalvagedRows } from "../../store/sqlite/salvage.ts";
import { ScratchTable } from "../../store/sqlite/scratch.ts";
import { FileCopier } from "../backup/copy-files.ts";
import { exitCodes } from "../exit-codes.ts";
import { type JsonSettings, show } from "../terminal/output.ts";
import { table } from "../terminal/table.ts";
import { oneLine } from "../terminal/text.ts";

/** As many as are listed. */
const listedMax = 1000;

interface Repaired extends SalvagedRows {
  lostCount: number;
  lost: Damage[];
  /** Documents that stay as they were stored although events of them are lost. */
  notBackedCount: number;
  notBacked: string[];
}

export async function repair(data: string, given: string, settings: JsonSettings): Promise<void> {
  const target = resolve(given);
  if (existsSync(target))
    throw new Error(`${target} is there already. Choose a directory that does not exist.`);
  // What is read of each event is garbage at once. The space for it would grow by tens of megabytes, and nothing would be faster.
  setFlagsFromString("--semi-space-growth-factor=1");
  const lock = lockDirectory(data);
  mkdirSync(target, { recursive: true, mode: 0o700 });
  try {
    const repaired = await salvageAll(data, target);
    const { isLogWhole, lostCount, lost, notBackedCount, notBacked, ...counts } = repaired;
    const facts = {
      ...{ data, to: target, ...counts, is_log_whole: isLogWhole, lost_count: lostCount, lost },
      ...{ not_backed_count: notBackedCount, not_backed: notBacked },
    };
    show(settings, facts, () => inWords(target, repaired));
    if (lostCount > 0) process.exitCode = exitCodes.failed.code;
  } catch (error) {
    rmSync(target, { recursive: true, force: true });
    throw openProblem(error, join(data, "bridle.db"));
  } finally {
    lock.release();
  }
}

async function salvageAll(data: string, target: string): Promise<Repaired> {
  const lost: Damage[] = [];
  let lostCount = 0;
  const onLost = (damage: Damage) => {
    lostCount += 1;
    if (lost.length < listedMax) lost.push(damage);
  };
  const copier = await FileCopier.of(data, target);
  await copier.copyNew("", () => {});
  const server = await salvageServer(data, target, onLost);
  salvageGateway(join(data, "gateway"), join(target, "gateway"), onLost);
  const files = await dropDamagedFiles(target, onLost);
  return { ...server, contents: server.contents + files, lostCount, lost };
}

async function salvageServer(
  data: string,
  target: string,
  onLost: (damage: Damage) => void,
): Promise<Omit<Repaired, "lost" | "lostCount">> {
  using salvage = new Salvage(data, target, onLost);
  const copied = salvage.copyLogAndContents();
  const store = await openSqliteStore(target);
  try {
    using scratch = new ScratchTable<SalvagedRecord>(target);
    const notBacked: string[] = [];
    let notBackedCount = 0;
    const file = join(data, "bridle.db");
    const documents = await salvageDocuments({
      store,
      table: scratch,
      stored: copied.isLogWhole ? [] : storedRecords(salvage.documents()),
      onLost: (id) => onLost({ file, what: "document", where: id, problem: "events of it are lost" }),
      onContradicted: (id) =>
        onLost({ file, what: "document", where: id, problem: "it differed from its events, which are kept" }),
      onNotBacked(id) {
        notBackedCount += 1;
        if (notBacked.length < listedMax) notBacked.push(id);
      },
    });
    return { ...copied, documents, notBackedCount, notBacked };
  } finally {
    await store.close();
  }
}

/** Rows of documents with the place that they have among the events. */
function* storedRecords(rows: Iterable<Row>): Generator<Folded> {
  for (const { body, born, sequence, last_event: lastEvent } of rows) {
    const record: AnyRecord = JSON.parse(String(body));
    const place = { born: Number(born), sequence: Number(sequence) };
    yield { record, ...place, lastEvent: lastEvent === null ? null : Number(lastEvent) };
  }
}

/** Its documents are not folds: they are copied as they are. */
function salvageGateway(data: string, target: string, onLost: (damage: Damage) => void): void {
  if (!existsSync(join(data, "bridle.db"))) return;
  mkdirSync(target, { recursive: true, mode: 0o700 });
  using salvage = new Salvage(data, target, onLost);
  salvage.copyLogAndContents();
  salvage.copyDocuments();
}

/** Gives the number of those that stay. */
async function dropDamagedFiles(directory: string, onLost: (damage: Damage) => void): Promise<number> {
  let count = 0;
  for (const file of blobFilesIn(directory)) {
    const sha256 = file.slice(-64);
    count += 1;
    if ((await hashOfFile(file)) === sha256) continue;
    count -= 1;
    rmSync(file);
    onLost({ file, what: "content", where: sha256, problem: "it does not match its hash" });
  }
  return count;
}

function inWords(target: string, repaired: Repaired): string {
  const { events, documents, contents, lostCount, lost, notBackedCount, notBacked } = repaired;
  const counted = `${target} holds ${events} events, ${documents} documents and ${contents} blobs`;
  if (lostCount === 0) return `${counted}. Nothing is lost.\n`;
  const rows = [
    ...lost.map(({ what, where, problem }) => [what, where, oneLine(problem)]),
    ...notBacked.map((id) => ["document", id, "kept as stored, not backed by events"]),
  ];
  const unlisted = lostCount - lost.length + notBackedCount - notBacked.length;
  const more = unlisted > 0 ? `and ${unlisted} more\n` : "";
  const kept = `${lostCount} lost, ${notBackedCount} kept that are not backed by events`;
  return `${table(["lost", "where", "problem"], rows)}${more}${counted}; ${kept}.\n`;
}
