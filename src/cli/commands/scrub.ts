/** `bridle scrub`: reads all that a data directory holds and lists what is damaged. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import type { Damage, DatabaseExamination } from "../../store/sqlite/examine-database.ts";
import { exitCodes } from "../exit-codes.ts";
import { type JsonSettings, show, withJson, withProgress } from "../terminal/output.ts";
import { table } from "../terminal/table.ts";
import { oneLine } from "../terminal/text.ts";
import { requireStore, withDataOption } from "./rebuild.ts";

/** As many as are listed. */
const listedMax = 1000;

export interface Scrubbed extends DatabaseExamination {
  receipts: number;
  damageCount: number;
  /** The first of it. */
  damage: Damage[];
}

export function addScrubCommand(program: Command): void {
  withDataOption(
    withJson(
      program
        .command("scrub")
        .summary("Read all data and list what is damaged.")
        .description(
          "Read all data, check it against its checksums and list what is damaged. The server may run meanwhile. Exit code 1 on any damage.",
        ),
    ),
  ).action(
    async (settings: JsonSettings & { data: string }) => await scrub(requireStore(settings.data), settings),
  );
}

export async function scrub(directory: string, settings: JsonSettings): Promise<void> {
  const found = await scrubDirectory(directory);
  const { uncheckedRows, damageCount, damage, ...counts } = found;
  const facts = {
    data: directory,
    ...counts,
    unchecked_rows: uncheckedRows,
    damage_count: damageCount,
    damage,
  };
  show(settings, facts, () => inWords(found));
  if (damageCount > 0) process.exitCode = exitCodes.failed.code;
}

/** The database of the server and that of its gateway. */
export async function scrubDirectory(directory: string): Promise<Scrubbed> {
  const { DatabaseExaminer } = await import("../../store/sqlite/examine-database.ts");
  const { checkReceiptLinks } = await import("../scrub/receipt-links.ts");
  const sum: Scrubbed = {
    ...{ events: 0, uncheckedRows: 0, documents: 0, contents: 0, receipts: 0 },
    ...{ damageCount: 0, damage: [] },
  };
  const onDamage = (damage: Damage) => {
    sum.damageCount += 1;
    if (sum.damage.length < listedMax) sum.damage.push(damage);
  };
  for (const at of [directory, join(directory, "gateway")]) {
    if (!existsSync(join(at, "bridle.db"))) continue;
    await withProgress("events read", async (shown) => {
      using examiner = new DatabaseExaminer(at, onDamage, (done, total) => shown.at(done, total));
      const { events, uncheckedRows, documents, contents } = await examiner.examine();
      sum.events += events;
      sum.uncheckedRows += uncheckedRows;
      sum.documents += documents;
      sum.contents += contents;
    });
  }
  sum.receipts = checkReceiptLinks(join(directory, "bridle.db"), onDamage);
  return sum;
}

function inWords({
  events,
  uncheckedRows,
  documents,
  contents,
  receipts,
  damageCount,
  damage,
}: Scrubbed): string {
  const counted = `${events} events, ${documents} documents, ${contents} blobs, ${receipts} receipts`;
  const old = uncheckedRows === 0 ? "" : ` ${uncheckedRows} rows are older than checksums.`;
  if (damageCount === 0) return `${counted}: no damage found.${old}\n`;
  const rows = damage.map(({ what, where, problem }) => [what, where, oneLine(problem)]);
  const more = damageCount > damage.length ? `and ${damageCount - damage.length} more\n` : "";
  const advice = "Restore a backup, or salvage what is intact with `bridle doctor --repair --to DIR`.";
  return `${table(["what", "where", "problem"], rows)}${more}${counted}; ${damageCount} damaged.${old} ${advice}\n`;
}
