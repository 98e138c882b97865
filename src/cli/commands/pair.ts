/**
 * `bridle pair`: lets an approver in. The keys come through a gateway that nobody trusts, so the operator compares their
 * fingerprint with what the approver's screen shows, and only then do they count.
 */

import { setTimeout as after } from "node:timers/promises";
import { type Command, InvalidArgumentError } from "commander";
import { programName } from "../program-name.ts";
import { Remote, type RemoteSettings, withRemoteOptions } from "../remote.ts";
import { ask, canAsk } from "../terminal/prompt.ts";
import { styleOf } from "../terminal/style.ts";
import { escapedJson, inFours, oneLine } from "../terminal/text.ts";

interface PairSettings extends RemoteSettings {
  id?: string;
  workspace?: string;
  label?: string;
  replaces?: string;
  overlapHours?: number;
  fingerprint?: string;
  json?: true;
}

interface Begun {
  code: string;
  nonce: string;
  expires_at: string;
  gateway_url: string | null;
}

interface Pairing {
  state: "initiated" | "resolved" | "completed" | "expired";
  approver_id?: string | null;
  fingerprint?: string | null;
}

interface Approver {
  signer_key_id: string;
  approver_id: string;
  state: string;
  pending_until?: string | null;
}

interface ApproverKey {
  id: string;
  key: string;
}

const whoIsAsked = "Who is to approve? A short name, such as ann (empty if they have an API key already): ";
const pollMs = 1000;
const hourMs = 60 * 60 * 1000;

export function addPairCommand(program: Command): void {
  withRemoteOptions(
    program
      .command("pair")
      .description("Let a person approve from a device of theirs: shows a code, then compares fingerprints.")
      .option(
        "--id <approver-id>",
        "who is to approve; makes their API key and shows it with the code. Asked for at a terminal",
      )
      .option("--workspace <name>", "the name of a workspace, for the approver to see")
      .option("--label <text>", "a name for the approver's device, for you to see")
      .option("--replaces <signer-key-id>", "the approver's key that the new one takes the place of")
      .option("--overlap-hours <number>", "how long the replaced key still counts", wholeHours)
      .option(
        "--fingerprint <hex>",
        "what the approver's screen shows; needed where there is no terminal",
        hex,
      )
      .option("--json", "JSON, for scripts"),
  ).action(async (settings: PairSettings, command: Command) => {
    if (settings.fingerprint === undefined && !canAsk()) {
      command.error(
        "error: there is no terminal to compare at: give the approver's fingerprint with --fingerprint.",
      );
    }
    await pair(settings);
  });
}

async function pair(settings: PairSettings): Promise<void> {
  const remote = new Remote(settings);
  // Before there is a code: that is good for minutes only.
  const id = settings.id ?? (canAsk() ? (await ask(whoIsAsked))?.trim() || null : null);
  const { workspace } = settings;
  const begun = await remote.json<Begun>(
    "POST",
    "/v1/approvals/pairings",
    workspace === undefined ? {} : { workspace_name: workspace },
  );
  // With --json too: somebody has to type the code, and it is on standard error.
  process.stderr.write(await invitation(begun, await approverKey(remote, id)));
  const pairing = await completed(remote, begun);
  const { fingerprint } = pairing;
  if (fingerprint == null)
    throw new Error("the approver sent no key that can be read; nothing was confirmed.");
  await requireSame(pairing.approver_id ?? "", fingerprint, settings.fingerprint);
  const approver = await confirm(remote, begun, fingerprint, settings);
  process.stdout.write(settings.json === true ? `${escapedJson(approver, 2)}\n` : `${described(approver)}\n`);
}

/** It opens the inbox of this approver at the gateway, and nothing else. */
async function approverKey(remote: Remote, id: string | null): Promise<ApproverKey | null> {
  if (id === null) return null;
  const request = { name: `Approver ${id}`, actor: id, scopes: [`harp:approver:${id}`] };
  const { key } = await remote.json<{ key: string }>("POST", "/v1/api-keys", request);
  return { id, key };
}

async function invitation(
  { code, expires_at, gateway_url }: Begun,
  approver: ApproverKey | null,
): Promise<string> {
  const gateway = oneLine(gateway_url ?? "URL-OF-THE-GATEWAY");
  const picture = gateway_url === null || !canAsk() ? "" : await pictureOf(code, gateway_url);
  const key = approver === null ? "THEIR-API-KEY" : oneLine(approver.key);
  const id = approver === null ? "THEIR-NAME" : oneLine(approver.id);
  return `${picture}Pairing code  ${styleOf(process.stderr).strong(oneLine(code))}   good once, until ${oneLine(expires_at)}

On the approver's machine:
  BRIDLE_KEY=${key} ${programName} approver pair ${oneLine(code)} --gateway ${gateway} --id ${id}

Waiting for the approver …
`;
}

/** In colours of its own, so that it can be read on a light terminal as on a dark one. */
async function pictureOf(code: string, gateway: string): Promise<string> {
  const { renderUnicodeCompact } = await import("uqr");
  const query = new URLSearchParams({ gateway });
  const { picture } = styleOf(process.stderr);
  const rows = renderUnicodeCompact(`bridle-pair:${code}?${query}`, { border: 2 }).split("\n");
  return `\n${rows.map((row) => `${picture(row)}\n`).join("")}\n`;
}

/** Once the approver has handed over its keys. */
async function completed(remote: Remote, { nonce, expires_at }: Begun): Promise<Pairing> {
  const path = `/v1/approvals/pairings/${encodeURIComponent(nonce)}`;
  while (true) {
    const pairing = await remote.json<Pairing>("GET", path);
    if (pairing.state === "completed") return pairing;
    // The server's word, or our own clock if it never says so.
    if (pairing.state === "expired" || Date.now() > Date.parse(expires_at) + hourMs) {
      throw new Error("the code has expired and nobody used it to the end. Begin again with `bridle pair`.");
    }
    await after(pollMs);
  }
}

async function requireSame(approverId: string, arrived: string, given: string | undefined): Promise<void> {
  process.stderr.write(`
Approver  ${oneLine(approverId)}
The fingerprint of the keys that arrived:

${inFours(oneLine(arrived))}
`);
  if (given !== undefined) {
    if (given === arrived) return;
    throw new Error(
      "the keys that arrived are not those with the fingerprint you gave. Nothing was confirmed: look who is in between.",
    );
  }
  const answer = await ask("Does the approver's screen show exactly the same? Type yes to confirm: ");
  if (answer?.trim().toLowerCase() === "yes") return;
  throw new Error("the pairing was not confirmed; these keys cannot approve anything.");
}

function described({ approver_id, signer_key_id, state, pending_until }: Approver): string {
  const [id, key] = [oneLine(approver_id), oneLine(signer_key_id)];
  if (state !== "pending") return `${id} may approve from now on, with key ${key}.`;
  const until =
    pending_until == null
      ? ""
      : `, or at ${oneLine(pending_until)} unless one of them refuses (\`bridle approver deny\`)`;
  return `The key ${key} of ${id} counts once the approvers agree (\`bridle approver inbox\`)${until}.`;
}

async function confirm(
  remote: Remote,
  { nonce }: Begun,
  fingerprint: string,
  { label, replaces, overlapHours }: PairSettings,
): Promise<Approver> {
  return await remote.json<Approver>("POST", `/v1/approvals/pairings/${encodeURIComponent(nonce)}/confirm`, {
    fingerprint,
    ...(label === undefined ? {} : { label }),
    ...(replaces === undefined ? {} : { replaces }),
    ...(overlapHours === undefined ? {} : { overlap_ms: overlapHours * hourMs }),
  });
}

function wholeHours(text: string): number {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number of hours.");
}

/** As it is on a screen, in groups or not. */
function hex(text: string): string {
  const digits = text.replaceAll(/[\s:]/g, "").toLowerCase();
  if (/^[0-9a-f]{64}$/.test(digits)) return digits;
  throw new InvalidArgumentError("It must be the 64 hexadecimal digits that the approver's screen shows.");
}
