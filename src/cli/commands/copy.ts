/** `bridle copy`: all that a server keeps in its stores, from SQLite to PostgreSQL or back. Without a server. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import type { CopyReport, CopySource, CopyTarget } from "../../store/copying.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import { databaseUrl } from "../settings/option-parsers.ts";
import { type JsonSettings, progress, show, withJson } from "../terminal/output.ts";

interface CopySettings extends JsonSettings {
  from: string;
  to: string;
}

export function addCopyCommand(program: Command): void {
  const command = withJson(
    program
      .command("copy")
      .summary("Copy the stores of a stopped server from SQLite to PostgreSQL, or back.")
      .description(
        "Copy the log, the documents and the content of a stopped server from a data directory to a PostgreSQL database, or back, and verify the copy. Repeat it after an interruption: it goes on where it was. Keys and files of workspaces are not copied: they stay in the data directory.",
      )
      .requiredOption(
        "--from <place>",
        "a data directory, the URL of a database, or env: the database in BRIDLE_DATABASE_URL",
      )
      .requiredOption("--to <place>", "the other one; it must be empty"),
  );
  command.action(async (settings: CopySettings) => {
    const [from, to] = [placeOf(settings.from), placeOf(settings.to)];
    if ((from.url === null) === (to.url === null))
      return command.error(
        "error: one of --from and --to must be a data directory and the other a database.",
      );
    const { schemas } = await import("../../server/stores.ts");
    const log = await copyOne(from, to, schemas.log, "");
    const gateway = await copyOne(from, to, schemas.gateway, "gateway");
    const documents = await verifyDocuments(to);
    const facts = { log_hash: log.logHash, events: log.events, documents, contents: log.contents };
    show(settings, { ...facts, gateway_events: gateway.events }, () => {
      return `Copied and verified: ${log.events} events with the hash ${log.logHash}, ${documents} documents, ${log.contents} contents.\n`;
    });
  });
}

interface Place {
  directory: string;
  url: string | null;
}

function placeOf(text: string): Place {
  const given = text === "env" ? (process.env.BRIDLE_DATABASE_URL ?? "") : text;
  const isUrl = text === "env" || /^postgres(ql)?:/.test(text);
  return isUrl ? { directory: "", url: databaseUrl(given) } : { directory: resolve(given), url: null };
}

type End = CopySource & CopyTarget & AsyncDisposable;

async function copyOne(from: Place, to: Place, schema: string, folder: string): Promise<CopyReport> {
  const { copyStore } = await import("../../store/copying.ts");
  await using source = await endOf(from, schema, folder, true);
  await using target = await endOf(to, schema, folder, false);
  const bars = new Map<string, ReturnType<typeof progress>>();
  const report = await copyStore(source, target, (what, done, total) => {
    const bar = bars.get(what) ?? progress(what);
    bars.set(what, bar);
    bar.at(done, total);
    if (done >= total) bar.end();
  });
  return report;
}

async function endOf(
  { directory, url }: Place,
  schema: string,
  folder: string,
  isSource: boolean,
): Promise<End> {
  const textOf = folder === "" ? await textOfRecords() : () => null;
  if (url !== null) {
    const { PostgresCopyEnd } = await import("../../store/postgres/copy-end.ts");
    return await PostgresCopyEnd.open({ url, schema }, textOf);
  }
  const { SqliteCopyEnd } = await import("../../store/sqlite/copy-end.ts");
  const at = join(directory, folder);
  if (isSource && !SqliteCopyEnd.isThere(at)) throw new Error(`${at} holds no data of a server.`);
  return await SqliteCopyEnd.open(at, textOf);
}

/** The words of a document are not kept as such by SQLite; they are made of it again. */
async function textOfRecords(): Promise<(kind: string, body: unknown) => string | null> {
  const { indexOf } = await import("../../kernel/core/fold.ts");
  // Documents of the log are records: folds of its events.
  return (_kind, body) => indexOf(body as Parameters<typeof indexOf>[0]).text ?? null;
}

/** Are the documents of the copy what its log says? Gives their number. */
async function verifyDocuments({ directory, url }: Place): Promise<number> {
  const { compareWithLog } = await import("../../kernel/core/rebuild.ts");
  const { ScratchTable } = await import("../../store/sqlite/scratch.ts");
  const scratch = mkdtempSync(join(tmpdir(), "bridle-copy-"));
  const store = await opened(directory, url);
  const shown = progress("documents compared");
  try {
    using folded = new ScratchTable<import("../../kernel/core/rebuild.ts").Folded>(scratch);
    const { documents, differenceCount, differences } = await compareWithLog(store, folded, {
      folded() {},
      compared: (done, total) => shown.at(done, total),
    });
    if (differenceCount === 0) return documents;
    const [{ kind, id } = { kind: "", id: "" }] = differences;
    throw new Error(
      `The log is copied, but ${differenceCount} documents differ from it, as in the original: the first is the ${kind} ${id}. Run "bridle rebuild" on the original and copy again.`,
    );
  } finally {
    shown.end();
    await store.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function opened(directory: string, url: string | null): Promise<WholeStore> {
  if (url === null) {
    const { openSqliteStore } = await import("../../store/sqlite/open.ts");
    return await openSqliteStore(directory);
  }
  const { openPostgresStore } = await import("../../store/postgres/open.ts");
  const { schemas } = await import("../../server/stores.ts");
  return await openPostgresStore({ url, schema: schemas.log, isSole: true });
}
