/** `bridle rebuild`: are the documents what the log says, and if not, make them so. Without a server. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Command, Option } from "commander";
import type { Folded, Rebuilt } from "../../kernel/core/rebuild.ts";
import { defaultConfig } from "../../server/config.ts";
import { exitCodes } from "../exit-codes.ts";
import { useProjectData } from "../remote.ts";
import { type JsonSettings, progress, show, withJson } from "../terminal/output.ts";
import { table } from "../terminal/table.ts";

interface RebuildSettings extends JsonSettings {
  data: string;
  check?: true;
}

/** As many as are named to a person. */
const namedMax = 50;

export function addRebuildCommand(program: Command): void {
  const command = withDataOption(
    withJson(
      program
        .command("rebuild")
        .summary("Rebuild documents from the event log, or check them.")
        .description(
          "Fold every document again from the log and put right what differs. The server must be stopped.",
        )
        .option("--check", "only say what differs, and change nothing. Exit code 1 when something does"),
    ),
  );
  command.action(async (settings: RebuildSettings) => {
    const directory = requireStore(settings.data);
    const { compareWithLog } = await import("../../kernel/core/rebuild.ts");
    const { openSqliteStore } = await import("../../store/sqlite/open.ts");
    const { ScratchTable } = await import("../../store/sqlite/scratch.ts");
    const store = await openSqliteStore(directory);
    using folded = new ScratchTable<Folded>(directory);
    const shown = { folding: progress("events folded"), comparing: progress("documents compared") };
    try {
      const head = await store.head();
      const rebuilt = await compareWithLog(store, folded, {
        folded: (position) => shown.folding.at(position, head),
        compared(done, total) {
          shown.folding.end();
          shown.comparing.at(done, total);
        },
      });
      const { documents, events, differences, differenceCount } = rebuilt;
      if (settings.check !== true) await rebuilt.repair();
      const isRepaired = settings.check !== true && differenceCount > 0;
      const facts = {
        ...{ data: directory, events, documents, is_repaired: isRepaired },
        ...{ difference_count: differenceCount, differences },
      };
      shown.comparing.end();
      show(settings, facts, () => inWords(rebuilt, isRepaired));
      if (settings.check === true && differenceCount > 0) process.exitCode = exitCodes.failed.code;
    } finally {
      await store.close();
    }
  });
}

export function withDataOption(command: Command): Command {
  return command
    .addOption(
      new Option("--data <directory>", "the data directory")
        .env("BRIDLE_DATA")
        .default(defaultConfig.dataDirectory),
    )
    .hook("preAction", () => useProjectData(command));
}

/** Opening a directory that holds none would make one. */
export function requireStore(data: string): string {
  if (process.env.BRIDLE_DATABASE_URL)
    throw new Error(
      "BRIDLE_DATABASE_URL is set, and this command works on data directories with SQLite. Unset it, or use the tools of PostgreSQL.",
    );
  const directory = resolve(data);
  if (existsSync(join(directory, "bridle.db"))) return directory;
  throw new Error(`${directory} holds no data of a server. Say with --data where it is.`);
}

function inWords({ documents, events, differences, differenceCount }: Rebuilt, isRepaired: boolean): string {
  const counted = `${documents} documents of ${events} events`;
  if (differenceCount === 0) return `${counted}: each is what the log says.\n`;
  const rows = differences.slice(0, namedMax).map(({ what, kind, id }) => [what, kind, id]);
  const more = differenceCount > namedMax ? `and ${differenceCount - namedMax} more\n` : "";
  const done = isRepaired
    ? "are put right"
    : "differ from the log; `bridle rebuild` without --check puts them right";
  return `${table(["what", "kind", "id"], rows)}${more}${counted}: ${differenceCount} ${done}.\n`;
}
