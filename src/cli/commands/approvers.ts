/** `bridle approvers`: whose keys count, taking one out, and the log of all that happened to them. */

import type { Command } from "commander";
import { Remote, type RemoteSettings, withRemoteOptions } from "../remote.ts";
import { escapedJson, escapedJsonText, oneLine } from "../terminal/text.ts";

interface ListedApprover {
  signer_key_id: string;
  approver_id: string;
  fingerprint: string;
  state: string;
  pending_until?: string | null;
  device_id: string;
  created_at: string;
  label?: string | null;
}

type Settings = RemoteSettings & { json?: true };

const path = "/v1/approvals/approvers";

export function addApproverListCommands(program: Command): void {
  const approvers = program.command("approvers").description("The people whose signatures count.");
  withRemoteOptions(
    approvers
      .command("list", { isDefault: true })
      .description("Their keys, and whether these still count.")
      .option("--json", "JSON, for scripts"),
  ).action(async (settings: Settings) => {
    const { data } = await new Remote(settings).json<{ data: ListedApprover[] }>("GET", path);
    process.stdout.write(settings.json === true ? `${escapedJson(data, 2)}\n` : tableOf(data));
  });
  withRemoteOptions(
    approvers
      .command("revoke <key>")
      .description(
        "Take a key out, at once and for good. By its id, its fingerprint, or the beginning of either.",
      )
      .option("--json", "JSON, for scripts"),
  ).action(async (key: string, settings: Settings) => {
    const remote = new Remote(settings);
    const { signer_key_id, approver_id } = await find(remote, key);
    await remote.delete(`${path}/${encodeURIComponent(signer_key_id)}`);
    process.stdout.write(
      settings.json === true
        ? `${escapedJson({ signer_key_id, approver_id, state: "revoked" })}\n`
        : `The key ${oneLine(signer_key_id)} of ${oneLine(approver_id)} counts no more, nor does anything that it signed.\n`,
    );
  });
  withRemoteOptions(
    approvers
      .command("audit")
      .description("All that happened to keys and decisions, one record a line.")
      .option("--verify", "check that no record was changed or taken out. Exit code 1 when one was")
      .option("--json", "the result of --verify as JSON; the records are JSON anyway"),
  ).action(async (settings: Settings & { verify?: true }) => {
    const lines = new Remote(settings).lines("/v1/approvals/audit");
    if (settings.verify === true) await verify(lines, settings);
    else for await (const line of lines) process.stdout.write(`${escapedJsonText(line)}\n`);
  });
}

function tableOf(approvers: readonly ListedApprover[]): string {
  if (approvers.length === 0) return "Nobody is paired. Begin with `bridle pair`.\n";
  return approvers
    .map(({ signer_key_id, approver_id, fingerprint, state, created_at, label, pending_until }) => {
      const until = pending_until == null ? "" : `, or until ${oneLine(pending_until)}`;
      const waiting = state === "pending" ? `, waits for the approvers to agree${until}` : "";
      const name = label == null ? "" : ` (${oneLine(label)})`;
      return `${oneLine(signer_key_id)}  ${oneLine(state).padEnd(10)}  ${oneLine(approver_id)}${name}
    fingerprint ${oneLine(fingerprint)}, made ${oneLine(created_at)}${waiting}\n`;
    })
    .join("");
}

/** What is revoked stays revoked, so the wrong one must not be hit. */
async function find(remote: Remote, key: string): Promise<ListedApprover> {
  const { data } = await remote.json<{ data: ListedApprover[] }>("GET", path);
  const digits = key.replaceAll(/\s/g, "").toLowerCase();
  const found = data.filter(
    ({ signer_key_id, fingerprint }) => signer_key_id.startsWith(key) || fingerprint.startsWith(digits),
  );
  const [first, second] = found;
  if (first === undefined) throw new Error(`no approver's key begins with ${oneLine(key)}.`);
  if (second === undefined) return first;
  const names = found.map(({ signer_key_id }) => oneLine(signer_key_id)).join(", ");
  throw new Error(`more than one key begins with ${oneLine(key)}: ${names}`);
}

async function verify(lines: AsyncIterable<string>, { json }: Settings): Promise<void> {
  const { verifyAudit } = await import("../../harp/core/audit.ts");
  const records: unknown[] = [];
  for await (const line of lines) if (line !== "") records.push(parsed(line));
  const verdict = await verifyAudit(records);
  const said = verdict.valid
    ? `${verdict.count} records, each where it was written. The last hash is ${verdict.head}.`
    : `The log is NOT whole: record ${verdict.seq}: ${oneLine(verdict.why)}`;
  process.stdout.write(json === true ? `${escapedJson(verdict)}\n` : `${said}\n`);
  if (!verdict.valid) process.exitCode = 1;
}

/** What is no JSON is no record either. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
