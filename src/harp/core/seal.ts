/**
 * Seals an artifact so that only its approvers can read it (profile `harp-e2e-1`). One key encrypts the artifact; for
 * each recipient that key is wrapped with what X25519 makes of theirs and a key that was made for this artifact only.
 */

import { type Artifact, assertHash } from "./artifact.ts";
import { encodeBase64url } from "./base64url.ts";
import { canonicalBytes, withPrefix } from "./canonical.ts";
import {
  agree,
  type Bytes,
  concat,
  encrypt,
  generateKeyPair,
  hkdf,
  type KeyPair,
  randomBytes,
} from "./ciphers.ts";
import { HarpError } from "./harp-error.ts";
import { kidOf } from "./keys.ts";
import type { Ciphertext } from "./wire.ts";

export const sealProfile = "harp-e2e-1";
export const sealAlg = "AES-256-GCM";
export const sealKdf = "X25519+HKDF-SHA256";
/** What a gateway is told of an artifact's type, unless it is configured to be told more. */
export const coreArtifactType = "core.artifact";
/** Each adds some 120 bytes to a message that a gateway limits. */
export const recipientsMax = 64;
/** As much as a gateway takes. */
export const artifactBytesMax = 2 * 1024 * 1024;
export const sealBytes = { key: 32, nonce: 12, tag: 16, wrapped: 48 } as const;

export interface WrappedKey {
  /** The hash of the recipient's public key. */
  kid: string;
  wrapped: string;
}

/** A ciphertext of our profile: all of it is there, and all of it is base64url. */
export interface SealedArtifact extends Ciphertext {
  alg: typeof sealAlg;
  profile: typeof sealProfile;
  kdf: typeof sealKdf;
  epk: string;
  nonce: string;
  data: string;
  tag: string;
  aad: string;
  recipients: WrappedKey[];
}

/** What has to be new for each artifact; given only where a published example is to be reproduced. */
export interface SealRandomness {
  ephemeral: KeyPair;
  contentKey: Uint8Array;
  nonce: Uint8Array;
}

export interface SealOptions {
  /** The outer type: `core.artifact`, or the artifact's own. */
  artifactType?: string;
  random?: SealRandomness;
}

/** What a gateway sees anyway, bound to what it does not see. */
export interface SealContext {
  alg: typeof sealAlg;
  artifactHash: string;
  artifactType: string;
  expiresAt: string;
  profile: typeof sealProfile;
  requestId: string;
}

/** To the X25519 public keys of all who may decide. A key that is there twice gets it once. */
export async function sealArtifact(
  artifact: Artifact,
  recipients: readonly Uint8Array[],
  { artifactType = coreArtifactType, random }: SealOptions = {},
): Promise<SealedArtifact> {
  await assertHash(artifact);
  if (artifactType !== coreArtifactType && artifactType !== artifact.artifactType) {
    throw new HarpError(
      "HARP_ERR_UNSUPPORTED",
      "The outer type is neither core.artifact nor the artifact's.",
    );
  }
  const plaintext = canonicalBytes(artifact);
  if (plaintext.length > artifactBytesMax) {
    throw new HarpError("HARP_ERR_UNSUPPORTED", `An artifact has at most ${artifactBytesMax} bytes.`, {
      reason: "too_large",
    });
  }
  const { ephemeral, contentKey, nonce } = random ?? (await freshRandomness());
  const key = new Uint8Array(contentKey);
  const aad = aadOf(artifact, artifactType);
  const sealed = await encrypt(key, new Uint8Array(nonce), plaintext, aad);
  const wrapped = await wrapForAll(key, recipients, ephemeral, aad);
  key.fill(0);
  return {
    alg: sealAlg,
    profile: sealProfile,
    kdf: sealKdf,
    epk: encodeBase64url(ephemeral.publicKey),
    nonce: encodeBase64url(nonce),
    data: encodeBase64url(sealed.subarray(0, plaintext.length)),
    tag: encodeBase64url(sealed.subarray(plaintext.length)),
    aad: encodeBase64url(aad),
    recipients: wrapped,
  };
}

/** The key, and the nonce, that wrap the content's key. Both are used once, because the ephemeral key is. */
export async function wrappingKeyOf(
  secret: Bytes,
  ephemeralPublic: Uint8Array,
  recipientPublic: Uint8Array,
): Promise<{ key: Bytes; nonce: Bytes }> {
  const info = new TextEncoder().encode(`${sealProfile}/wrap`);
  const salt = concat(ephemeralPublic, recipientPublic);
  const made = await hkdf(secret, salt, info, sealBytes.key + sealBytes.nonce);
  return { key: made.slice(0, sealBytes.key), nonce: made.slice(sealBytes.key) };
}

async function freshRandomness(): Promise<SealRandomness> {
  return {
    ephemeral: await generateKeyPair("X25519", false),
    contentKey: randomBytes(sealBytes.key),
    nonce: randomBytes(sealBytes.nonce),
  };
}

function aadOf(artifact: Artifact, artifactType: string): Bytes {
  const context: SealContext = {
    alg: sealAlg,
    artifactHash: withPrefix(artifact.artifactHash),
    artifactType,
    expiresAt: artifact.expiresAt,
    profile: sealProfile,
    requestId: artifact.requestId,
  };
  return canonicalBytes(context);
}

async function wrapForAll(
  contentKey: Bytes,
  recipients: readonly Uint8Array[],
  ephemeral: KeyPair,
  aad: Bytes,
): Promise<WrappedKey[]> {
  const byKid = new Map<string, Uint8Array>();
  for (const recipient of recipients) byKid.set(await kidOf(recipient), recipient);
  if (byKid.size === 0 || byKid.size > recipientsMax) {
    throw new HarpError("HARP_ERR_UNSUPPORTED", `An artifact is sealed to 1 to ${recipientsMax} keys.`, {
      recipients: byKid.size,
    });
  }
  const wrappedKeys: WrappedKey[] = [];
  for (const [kid, recipient] of byKid) {
    const secret = await agree(ephemeral.privateKey, recipient);
    const wrapping = await wrappingKeyOf(secret, ephemeral.publicKey, recipient);
    const wrapped = await encrypt(wrapping.key, wrapping.nonce, contentKey, aad);
    secret.fill(0);
    wrapping.key.fill(0);
    wrappedKeys.push({ kid, wrapped: encodeBase64url(wrapped) });
  }
  return wrappedKeys;
}
