/** `bridle approver inbox`, `show`, `expired`, `refresh`, `dismiss`, `unpair` and `keys`: everything that signs nothing. */

import { type ApproverKeys, fingerprintOf, pairingFingerprint } from "../../harp/core/keys.ts";
import type { PendingRequest } from "../../sdk/approver/approver.ts";
import { escapedJson, inFours, oneLine } from "../terminal/text.ts";
import { type ApproverSettings, connect, requireProfile } from "./connect.ts";
import { newDevice, warnWithoutPassphrase } from "./device.ts";
import { findAny, findIn } from "./find.ts";
import { passphraseToOpen } from "./passphrase.ts";
import { isLocked, loadProfile, saveProfile, unlock } from "./profile.ts";
import { describe, jsonOf, summary } from "./show.ts";

export async function inbox(settings: ApproverSettings): Promise<void> {
  const { approver } = await connect(settings);
  await list(approver.inbox(), settings, "Nothing waits for you.");
}

export async function expired(settings: ApproverSettings): Promise<void> {
  const { approver } = await connect(settings);
  await list(approver.expired(), settings, "Nothing has expired.");
}

export async function show(prefix: string, settings: ApproverSettings): Promise<void> {
  const { approver } = await connect(settings);
  const request = await findAny(approver, prefix);
  process.stdout.write(
    settings.json === true ? `${escapedJson(jsonOf(request), 2)}\n` : describe(request, Date.now()),
  );
}

export async function refresh(prefix: string, settings: ApproverSettings): Promise<void> {
  const { approver } = await connect(settings);
  const requestId = (await findIn(approver.expired(), prefix))?.requestId ?? prefix;
  await approver.refresh(requestId);
  const text = `The enforcer was told. If it still wants to, it asks again, under another id than ${oneLine(requestId)}.`;
  report(settings, { requestId, status: "forwarded" }, text);
}

export async function dismiss(prefix: string, settings: ApproverSettings): Promise<void> {
  const { approver } = await connect(settings);
  const { requestId } = await findAny(approver, prefix);
  await approver.dismiss(requestId);
  report(
    settings,
    { requestId, status: "dismissed" },
    `${oneLine(requestId)} is out of your inbox, undecided.`,
  );
}

export async function unpair(enforcerId: string, settings: ApproverSettings): Promise<void> {
  const { approver } = await connect(settings);
  await approver.unpair(enforcerId);
  const profile = requireProfile(settings.profile);
  const pairings = profile.pairings.filter((paired) => paired.enforcerId !== enforcerId);
  saveProfile(settings.profile, { ...profile, pairings });
  const text = `Requests of ${oneLine(enforcerId)} no longer reach you. Its operator can also revoke your key: bridle approvers revoke.`;
  report(settings, { enforcerId, status: "revoked" }, text);
}

function report({ json }: ApproverSettings, result: object, text: string): void {
  process.stdout.write(json === true ? `${escapedJson(result)}\n` : `${text}\n`);
}

export async function keys(settings: ApproverSettings & { create?: true }): Promise<void> {
  const { profile: file } = settings;
  const made = settings.create === true ? await createKeys(settings) : null;
  const profile = requireProfile(file);
  const own = made ?? (await unlock(profile, () => passphraseToOpen(settings, file)));
  const { signerKeyId, deviceId, createdAt, ed25519, x25519 } = own;
  const found = {
    approverId: profile.approverId ?? null,
    gateway: profile.gateway ?? null,
    fingerprint: await pairingFingerprint(ed25519.publicKey, x25519.publicKey),
    signerKeyId,
    deviceId,
    createdAt,
    ed25519Fingerprint: await fingerprintOf(ed25519.publicKey),
    x25519Fingerprint: await fingerprintOf(x25519.publicKey),
    profile: file,
    hasPassphrase: isLocked(profile),
    pairings: profile.pairings,
  };
  if (settings.json === true) {
    process.stdout.write(`${escapedJson(found, 2)}\n`);
    return;
  }
  const paired = profile.pairings.map(({ label, enforcerId, workspace, at }) => {
    const where = workspace === undefined ? "" : `, workspace ${workspace}`;
    return `  ${oneLine(`${label ?? enforcerId}${where}, since ${at}`)}\n`;
  });
  process.stdout.write(`Approver     ${oneLine(found.approverId ?? "-")}
Gateway      ${oneLine(found.gateway ?? "-")}
Signing key  ${signerKeyId}
Device       ${deviceId}
Made         ${createdAt}
Kept in      ${file}${found.hasPassphrase ? ", with a passphrase" : ", without a passphrase"}
Fingerprint
${inFours(found.fingerprint)}Paired with
${paired.length === 0 ? "  nobody\n" : paired.join("")}`);
}

/** For who has to say their fingerprint before they pair. */
async function createKeys(settings: ApproverSettings): Promise<ApproverKeys> {
  const { profile: file } = settings;
  if (loadProfile(file) !== null) throw new Error(`there are keys already, in ${file}.`);
  const { keys, secrets } = await newDevice(settings);
  saveProfile(file, { v: 1, secrets, pairings: [] });
  warnWithoutPassphrase({ secrets });
  return keys;
}

async function list(
  requests: AsyncIterable<PendingRequest>,
  { json }: ApproverSettings,
  nothing: string,
): Promise<void> {
  let count = 0;
  for await (const request of requests) {
    count += 1;
    process.stdout.write(json === true ? `${escapedJson(jsonOf(request))}\n` : summary(request, Date.now()));
  }
  if (count === 0 && json !== true) process.stdout.write(`${nothing}\n`);
}
