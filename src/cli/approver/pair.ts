/** `bridle approver pair`: makes keys where there are none, finds the enforcer by its code, and hands over the public keys. */

import { randomBytes } from "node:crypto";
import type { ApproverKeys } from "../../harp/core/keys.ts";
import { Approver, GatewayRefusal, type PairingOffer } from "../../sdk/approver/approver.ts";
import { escapedJson, inFours, oneLine } from "../terminal/text.ts";
import { chooseKey } from "./choose-key.ts";
import { type ApproverSettings, keyChoice } from "./connect.ts";
import { knownDevice, newDevice, warnWithoutPassphrase } from "./device.ts";
import { isLocked, loadProfile, type Profile, saveProfile, withPairing } from "./profile.ts";

export interface PairSettings extends ApproverSettings {
  gateway?: string;
  id?: string;
  saveKey: boolean;
}

export async function pair(text: string, settings: PairSettings): Promise<void> {
  const before = loadProfile(settings.profile);
  const invitation = readInvitation(text);
  const gateway = gatewayOf(settings, invitation.gateway, before);
  const approverId = approverIdOf(settings, before);
  const key = chooseKey(keyChoice(settings, gateway, before));
  warnAboutPlainHttp(gateway);
  const { keys, secrets } = before === null ? await newDevice(settings) : await knownDevice(before, settings);
  const approver = new Approver({ url: gateway, key, approverId, keys });
  await requireSelf(approver, settings);
  const offer = await approver.pair(invitation.code);
  const profile: Profile = {
    v: 1,
    gateway,
    approverId,
    ...(settings.saveKey ? { key } : {}),
    secrets,
    pairings: before?.pairings ?? [],
  };
  // Kept before they are handed over: keys that are trusted and lost are of no use to anybody.
  saveProfile(settings.profile, profile);
  await offer.complete();
  const { enforcerId, enforcerLabel: label, workspaceName: workspace } = offer;
  const named = { ...(label === null ? {} : { label }), ...(workspace === null ? {} : { workspace }) };
  saveProfile(settings.profile, withPairing(profile, { enforcerId, ...named, at: new Date().toISOString() }));
  warnWithoutPassphrase(profile);
  report(offer, approver, keys, settings, isLocked(profile));
}

/** A code as it is read out, or what is in the picture beside it. */
function readInvitation(text: string): { code: string; gateway: string | null } {
  const url = text.startsWith("bridle-pair:") ? URL.parse(text) : null;
  const code = (url?.pathname ?? text).replaceAll(/[\s-]/g, "").toUpperCase();
  if (!/^[A-Z0-9]{6,64}$/.test(code)) throw new Error("this is no pairing code.");
  return { code, gateway: url?.searchParams.get("gateway") ?? null };
}

function gatewayOf(
  { gateway, profile }: PairSettings,
  invited: string | null,
  before: Profile | null,
): string {
  const wanted = gateway ?? invited ?? before?.gateway;
  if (wanted === undefined) throw new Error("say with --gateway where the gateway is.");
  const url = wanted.replace(/\/+$/, "");
  if (before?.gateway === undefined || before.gateway === url) return url;
  throw new Error(
    `${profile} is for the gateway at ${before.gateway}. For another one keep another profile, with --profile.`,
  );
}

function approverIdOf({ id, profile }: PairSettings, before: Profile | null): string {
  const known = before?.approverId;
  if (known !== undefined && id !== undefined && id !== known) {
    throw new Error(
      `${profile} is for approver ${known}. For another one keep another profile, with --profile.`,
    );
  }
  return id ?? known ?? `approver-${randomBytes(6).toString("hex")}`;
}

/** Asked first, since a code is used up by the first who presents it. */
async function requireSelf(approver: Approver, { id }: PairSettings): Promise<void> {
  try {
    await approver.inbox().next();
  } catch (error) {
    if (!(error instanceof GatewayRefusal && error.status === 403)) throw error;
    const hint = id === undefined ? " Say with --id which approver the API key was made for." : "";
    throw new Error(`${oneLine(error.message)} (${error.code})${hint}`);
  }
}

function warnAboutPlainHttp(gateway: string): void {
  const { protocol, hostname } = new URL(gateway);
  if (protocol === "https:" || ["localhost", "127.0.0.1", "[::1]"].includes(hostname)) return;
  process.stderr.write("Warning: without https the API key can be read on the way to the gateway.\n");
}

function report(
  offer: PairingOffer,
  approver: Approver,
  { signerKeyId, deviceId }: ApproverKeys,
  { json, profile }: PairSettings,
  hasPassphrase: boolean,
): void {
  const { approverId } = approver;
  const { enforcerId, enforcerLabel, workspaceName, enforcerFingerprint, fingerprint } = offer;
  if (json === true) {
    const enforcer = { enforcerId, enforcerLabel, workspaceName, enforcerFingerprint };
    const own = { approverId, fingerprint, signerKeyId, deviceId, profile };
    process.stdout.write(`${escapedJson({ ...enforcer, ...own }, 2)}\n`);
    return;
  }
  const workspace = workspaceName === null ? "" : `, workspace ${oneLine(workspaceName)}`;
  process.stdout.write(`Enforcer     ${oneLine(enforcerLabel ?? enforcerId)}${workspace}
             reported by the gateway and unverified; confirm it is the server you expect
Approver     ${oneLine(approverId)}
Signing key  ${signerKeyId}
Kept in      ${profile}${hasPassphrase ? ", with a passphrase" : ", without a passphrase"}

Your fingerprint. Whoever runs the enforcer must see exactly this before they confirm:

${inFours(fingerprint)}
`);
}
