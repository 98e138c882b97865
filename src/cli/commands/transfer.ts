/** `bridle export` and `bridle import`: a session's log from one server to another. */

import { openAsBlob } from "node:fs";
import { stat } from "node:fs/promises";
import type { Command } from "commander";
import { Remote, type RemoteSettings, withRemoteOptions } from "../remote.ts";
import {
  about,
  type JsonSettings,
  show,
  whileWaiting,
  withJson,
  withProgress,
  writeLines,
} from "../terminal/output.ts";
import { escapedJson, oneLine } from "../terminal/text.ts";

type Settings = RemoteSettings & JsonSettings;

export function addTransferCommands(program: Command): void {
  withRemoteOptions(
    withOut(
      program
        .command("export <session>")
        .description("Write the whole log of a session to a file that another server can import."),
    ),
  ).action(async (session: string, settings: Settings & { out?: string }) => {
    const { out } = settings;
    const lines = new Remote(settings).lines(`/v1/sessions/${encodeURIComponent(session)}/export`);
    const count = await withProgress("lines exported", (shown) =>
      writeLines(lines, out, (line) => shown.at(line)),
    );
    showWritten(settings, { session_id: session, lines: count }, `${count} lines of ${session}`);
  });

  withRemoteOptions(
    withJson(
      program
        .command("import <file>")
        .description("Take over the log of a session that was exported elsewhere. All of it or nothing."),
    ),
  ).action(async (file: string, settings: Settings) => {
    // Read as it is sent, not before.
    const content = await about(file, async () => {
      if (!(await stat(file)).isFile()) throw new Error("it is no file.");
      return await openAsBlob(file, { type: "application/jsonl" });
    });
    const sent = new Remote(settings).send("/v1/sessions/import", content);
    const session = await whileWaiting("seconds of importing", sent);
    show(settings, session, () => `Imported ${oneLine(idOf(session))}.\n`);
  });
}

/** Where a command writes lines to. Standard output holds nothing else, so what is said about them goes beside it. */
export function withOut(command: Command): Command {
  return command
    .option("--out <file>", "where to; standard output otherwise")
    .option("--json", "what was written where as JSON, for scripts; needs --out to be on standard output");
}

export function showWritten(
  { out, json }: JsonSettings & { out?: string },
  facts: Record<string, unknown>,
  words: string,
): void {
  const where = out === undefined ? "" : ` in ${out}`;
  if (json !== true) process.stderr.write(`${oneLine(`${words}${where}`)}.\n`);
  else if (out !== undefined) show({ json }, { ...facts, file: out }, () => "");
  else process.stderr.write(`${escapedJson(facts)}\n`);
}

function idOf(resource: unknown): string {
  return typeof resource === "object" && resource !== null && "id" in resource ? String(resource.id) : "?";
}
