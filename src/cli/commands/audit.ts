/** `bridle audit`: who administered what, from where, and whether the log of it is intact. */

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { type Command, Option } from "commander";
import type { AuditRecord, AuditVerification, ListAudit } from "../../sdk/client/index.ts";
import { Remote, withRemoteOptions } from "../remote.ts";
import { parseMoment } from "../settings/parse-moment.ts";
import { type Limits, remoteCommand, type Settings, withLimit } from "../task/command.ts";
import { about, show, withProgress, writeLines } from "../terminal/output.ts";
import { table } from "../terminal/table.ts";
import { escapedJson, oneLine } from "../terminal/text.ts";
import { showWritten, withOut } from "./transfer.ts";

interface Filters {
  action?: string;
  actor?: string;
  since?: Date;
  until?: Date;
}

export function addAuditCommands(program: Command): void {
  const audit = program
    .command("audit")
    .description(
      "The audit log: changes to keys, policy and secrets, reads by administrators, failed sign-ins.",
    );
  addList(audit);
  addFollow(audit);
  addExport(audit);
  addVerify(audit);
}

function addList(audit: Command): void {
  const examples = ["bridle audit list --since 2d", "bridle audit list --action api_key.create --json"];
  withLimit(remoteCommand(audit, "list", "Records, newest first.", examples))
    .option("--action <name>", "only this action, such as api_key.create")
    .option("--actor <name>", "only what this actor did")
    .addOption(
      new Option("--since <when>", "only from then on: a time, or 30m, 2h, 5d").argParser(parseMoment),
    )
    .addOption(new Option("--until <when>", "only up to then").argParser(parseMoment))
    .action(async (settings: Settings & Limits & Filters) => {
      const { action, actor, since, until } = settings;
      const filter: ListAudit = {
        limit: 100,
        ...(action === undefined ? {} : { action }),
        ...(actor === undefined ? {} : { actor }),
        ...(since === undefined ? {} : { from: since }),
        ...(until === undefined ? {} : { until }),
      };
      const { moreHint, taken } = await import("../task/list.ts");
      const { items, isMore } = await taken(new Remote(settings).client.audit.all(filter), settings);
      show(settings, items, () => (items.length === 0 ? "No records.\n" : recordTable(items)));
      if (isMore && settings.json !== true) process.stderr.write(moreHint);
    });
}

function addFollow(audit: Command): void {
  remoteCommand(audit, "follow", "Every record, then those to come; with --json, JSON lines.", [
    "bridle audit follow --json",
  ])
    .option("--after <event>", "begin after this event of the log")
    .action(async ({ after, ...settings }: Settings & { after?: string }) => {
      for await (const record of new Remote(settings).client.audit.follow({ after })) {
        const line = settings.json === true ? escapedJson(record) : oneLine(cellsOf(record).join("  "));
        process.stdout.write(`${line}\n`);
      }
    });
}

function addExport(audit: Command): void {
  withRemoteOptions(
    withOut(
      audit.command("export").description("Write the whole audit log, oldest record first, as JSON lines."),
    ),
  ).action(async (settings: Settings & { out?: string }) => {
    const lines = new Remote(settings).client.audit.export();
    const records = await withProgress("records exported", (shown) =>
      writeLines(lines, settings.out, (line) => shown.at(line)),
    );
    showWritten(settings, { records }, `${records} audit records`);
  });
}

function addVerify(audit: Command): void {
  remoteCommand(
    audit,
    "verify [file]",
    "Check the hash chain of an exported file, without a server; or have the server check its own. Exit code 1 when it is broken.",
    ["bridle audit verify audit.jsonl"],
  ).action(async (file: string | undefined, settings: Settings) => {
    const verdict =
      file === undefined
        ? await new Remote(settings).client.audit.verify()
        : await about(file, () => verifyFile(file));
    show(settings, verdict, () => verdictText(verdict));
    if (!verdict.valid) process.exitCode = 1;
  });
}

async function verifyFile(file: string): Promise<AuditVerification> {
  // What hashes is large; the other commands do not need it.
  const { verifyAuditLog } = await import("../../receipts/audit-record.ts");
  const verdict = await verifyAuditLog(recordsIn(file));
  const none = { size: null, head_hash: null, index: null, reason: null };
  return { object: "audit_verification", ...none, ...verdict };
}

async function* recordsIn(file: string): AsyncGenerator<unknown> {
  for await (const line of createInterface({ input: createReadStream(file) })) {
    try {
      yield JSON.parse(line);
    } catch {
      // Not JSON, so not a record.
      yield null;
    }
  }
}

function verdictText({ valid, size, head_hash, index, reason }: AuditVerification): string {
  if (!valid) return `The audit log is broken at record ${index}: ${oneLine(reason ?? "")}.\n`;
  const head = head_hash === null ? "" : `The last hash is ${oneLine(head_hash)}; keep it elsewhere.\n`;
  return `The audit log is intact: ${size} records.\n${head}`;
}

function recordTable(records: readonly AuditRecord[]): string {
  return table(["NUMBER", "TIME", "ACTION", "OUTCOME", "ACTOR", "ADDRESS", "RESOURCE"], records.map(cellsOf));
}

function cellsOf({ index, created_at, action, outcome, actor, address, resource }: AuditRecord): string[] {
  return [String(index), created_at, action, outcome, actor ?? "-", address ?? "-", resource?.id ?? "-"];
}
