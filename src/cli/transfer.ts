/** `bridle export` and `bridle import`: a session's log from one server to another. */

import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { progress, writeLines } from "./output.ts";
import { Remote, type RemoteSettings, withRemoteOptions } from "./remote.ts";

export function addTransferCommands(program: Command): void {
  withRemoteOptions(
    program
      .command("export <session>")
      .description("Write the whole log of a session to a file that another server can import.")
      .option("--out <file>", "where to; standard output otherwise"),
  ).action(async (session: string, settings: RemoteSettings & { out?: string }) => {
    const { out } = settings;
    const shown = progress("lines exported");
    const lines = new Remote(settings).lines(`/v1/sessions/${encodeURIComponent(session)}/export`);
    const count = await writeLines(lines, out, (line) => shown.at(line));
    shown.end();
    process.stderr.write(`${count} lines of ${session}${out === undefined ? "" : ` in ${out}`}.\n`);
  });

  withRemoteOptions(
    program
      .command("import <file>")
      .description("Take over the log of a session that was exported elsewhere. All of it or nothing."),
  ).action(async (file: string, settings: RemoteSettings) => {
    const text = await readFile(file, "utf8");
    const session = await new Remote(settings).send("/v1/sessions/import", text, "application/jsonl");
    process.stdout.write(`Imported ${idOf(session)}.\n`);
  });
}

function idOf(resource: unknown): string {
  return typeof resource === "object" && resource !== null && "id" in resource ? String(resource.id) : "?";
}
