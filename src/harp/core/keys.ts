/** The keys of an approver, and of an enforcer that pairs: how they are made, named, shown and handed to the other. */

import { decodeBase64url, encodeBase64url } from "./base64url.ts";
import { canonicalBytes, parseCanonical, sha256, sha256Hex } from "./canonical.ts";
import {
  agree,
  type Bytes,
  type Curve,
  concat,
  exportPrivateKey,
  generateKeyPair,
  importPrivateKey,
  type KeyPair,
  randomBytes,
  sign,
  verify,
} from "./ciphers.ts";
import { HarpError } from "./harp-error.ts";
import { base64url, closed, only, text, time, uuid } from "./read.ts";
import { type ApproverSecrets, readSecrets } from "./secrets.ts";

export { type ApproverSecrets, decryptSecrets, type EncryptedSecrets, encryptSecrets } from "./secrets.ts";

export interface ApproverKeys {
  /** The fingerprint of the signing key, as base64url. */
  signerKeyId: string;
  /** Random, and says nothing about the device or its owner. */
  deviceId: string;
  createdAt: string;
  ed25519: KeyPair;
  x25519: KeyPair;
}

/** What an approver hands over at pairing. */
export interface ApproverBundle {
  signerKeyId: string;
  deviceId: string;
  createdAt: string;
  ed25519: Uint8Array;
  x25519: Uint8Array;
}

/** What an enforcer hands over at pairing. */
export interface EnforcerBundle {
  deviceId: string;
  createdAt: string;
  x25519: Uint8Array;
}

const keyBytes = 32;
/** Far above a bundle; what is longer is none. */
const bundleLengthMax = 4096;

const key = base64url(keyBytes);
const readApproverFields = closed({
  v: only(1),
  createdAt: time,
  deviceId: uuid,
  ed25519: key,
  signerKeyId: key,
  x25519: key,
});
const readEnforcerFields = closed({ v: only(1), createdAt: time, deviceId: uuid, x25519: key });

/** Extractable, so that they can be written to an encrypted file, unless they are to stay where they were made. */
export async function generateApproverKeys(
  now: Date,
  { isExtractable = true }: { isExtractable?: boolean } = {},
): Promise<ApproverKeys> {
  const ed25519 = await generateKeyPair("Ed25519", isExtractable);
  const x25519 = await generateKeyPair("X25519", isExtractable);
  return {
    signerKeyId: await signerKeyIdOf(ed25519.publicKey),
    deviceId: crypto.randomUUID(),
    createdAt: now.toISOString(),
    ed25519,
    x25519,
  };
}

export async function exportSecrets(keys: ApproverKeys): Promise<ApproverSecrets> {
  const { deviceId, createdAt } = keys;
  return {
    v: 1,
    deviceId,
    createdAt,
    ed25519: await exportPair(keys.ed25519),
    x25519: await exportPair(keys.x25519),
  };
}

/** What comes back cannot be exported again. Refuses a private key that does not belong to its public key. */
export async function importApproverKeys(secrets: ApproverSecrets): Promise<ApproverKeys> {
  const { deviceId, createdAt, ed25519, x25519 } = readSecrets(secrets);
  const signing = await importPair("Ed25519", ed25519);
  const agreeing = await importPair("X25519", x25519);
  if (!((await isSigningPair(signing)) && (await isAgreeingPair(agreeing)))) throw notAPair();
  const signerKeyId = await signerKeyIdOf(signing.publicKey);
  return { signerKeyId, deviceId, createdAt, ed25519: signing, x25519: agreeing };
}

/** The text that travels as `publicKey` in pairing. */
export function bundleOf(keys: ApproverKeys): string {
  return encodeBase64url(
    canonicalBytes({
      v: 1,
      createdAt: keys.createdAt,
      deviceId: keys.deviceId,
      ed25519: encodeBase64url(keys.ed25519.publicKey),
      signerKeyId: keys.signerKeyId,
      x25519: encodeBase64url(keys.x25519.publicKey),
    }),
  );
}

/** It came through a gateway: its keys are believed only after a person has compared fingerprints. */
export async function readApproverBundle(bundle: string): Promise<ApproverBundle> {
  const { deviceId, createdAt, ...fields } = readApproverFields(parseBundle(bundle), "bundle");
  const ed25519 = decodeBase64url(fields.ed25519, keyBytes);
  const signerKeyId = await signerKeyIdOf(ed25519);
  if (signerKeyId !== fields.signerKeyId) {
    throw new HarpError("HARP_ERR_SIGNATURE_INVALID", "The signerKeyId is not the fingerprint of the key.", {
      reason: "wrong_signer_key_id",
    });
  }
  return { signerKeyId, deviceId, createdAt, ed25519, x25519: decodeBase64url(fields.x25519, keyBytes) };
}

export async function newEnforcerBundle(
  now: Date,
): Promise<EnforcerBundle & { bundle: string; privateKey: CryptoKey }> {
  const { publicKey, privateKey } = await generateKeyPair("X25519", true);
  const [deviceId, createdAt] = [crypto.randomUUID(), now.toISOString()];
  const fields = { v: 1, createdAt, deviceId, x25519: encodeBase64url(publicKey) };
  return {
    bundle: encodeBase64url(canonicalBytes(fields)),
    deviceId,
    createdAt,
    x25519: publicKey,
    privateKey,
  };
}

export function readEnforcerBundle(bundle: string): EnforcerBundle {
  const { deviceId, createdAt, x25519 } = readEnforcerFields(parseBundle(bundle), "bundle");
  return { deviceId, createdAt, x25519: decodeBase64url(x25519, keyBytes) };
}

export async function signerKeyIdOf(ed25519Public: Uint8Array): Promise<string> {
  return encodeBase64url(await sha256(ed25519Public));
}

/** How a sealed artifact names those who can open it. */
export async function kidOf(x25519Public: Uint8Array): Promise<string> {
  return encodeBase64url(await sha256(x25519Public));
}

/** What both screens show: it changes when either key was exchanged on the way. */
export async function pairingFingerprint(ed25519: Uint8Array, x25519: Uint8Array): Promise<string> {
  return await sha256Hex(concat(ed25519, x25519));
}

export async function fingerprintOf(rawKey: Uint8Array): Promise<string> {
  return await sha256Hex(rawKey);
}

function parseBundle(bundle: string): unknown {
  if (text(bundle, "bundle").length > bundleLengthMax) {
    throw new HarpError("HARP_ERR_TRANSPORT", `A bundle has at most ${bundleLengthMax} characters.`);
  }
  return parseCanonical(decodeBase64url(bundle));
}

async function exportPair({ publicKey, privateKey }: KeyPair): Promise<{ seed: string; publicKey: string }> {
  if (!privateKey.extractable) {
    throw new HarpError("HARP_ERR_POLICY_DENY", "These keys were made to stay where they are.", {
      reason: "not_extractable",
    });
  }
  return { seed: await exportPrivateKey(privateKey), publicKey: encodeBase64url(publicKey) };
}

async function importPair(curve: Curve, pair: ApproverSecrets["ed25519"]): Promise<KeyPair> {
  const publicKey = decodeBase64url(pair.publicKey, keyBytes);
  // Some platforms notice by themselves when the two do not belong together.
  const privateKey = await importPrivateKey(curve, pair.seed, pair.publicKey).catch(() => {
    throw notAPair();
  });
  return { publicKey, privateKey };
}

async function isSigningPair({ publicKey, privateKey }: KeyPair): Promise<boolean> {
  const message = randomBytes(keyBytes);
  return await verify(publicKey, await sign(privateKey, message), message);
}

/** The base point: agreeing with it gives the public key of one's own (RFC 7748, section 6.1). */
async function isAgreeingPair({ publicKey, privateKey }: KeyPair): Promise<boolean> {
  const basePoint: Bytes = new Uint8Array(keyBytes);
  basePoint[0] = 9;
  const own = await agree(privateKey, basePoint);
  return encodeBase64url(own) === encodeBase64url(publicKey);
}

function notAPair(): HarpError {
  return new HarpError("HARP_ERR_SIGNATURE_INVALID", "A private key does not belong to its public key.", {
    reason: "not_a_pair",
  });
}
