/**
 * How secrets are kept: AES-256-GCM, each vault's secrets under a data key of its own, the data key under the master key.
 * What is sealed is bound to where it belongs (tenant, vault, name, version), so that it opens nowhere else. Only
 * computes: where keys live is for others to say.
 *
 * A sealed text is the hex of a random 96-bit nonce, the ciphertext and the 128-bit tag. Hex, because nothing that
 * searches texts for credentials can take it for one.
 */

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from "node:crypto";

const algorithm = "aes-256-gcm";
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/** A key with the name by which what it has sealed refers to it. The name tells nothing about the key. */
export interface MasterKey {
  kid: string;
  key: KeyObject;
}

/** A vault's data key, sealed with a master key. */
export interface WrappedKey {
  /** The master key that opens it. */
  kid: string;
  /** Counts the data keys of the vault. */
  version: number;
  sealed: string;
}

/** What a sealed text belongs to. It opens only when told the same again. */
export type Belonging = readonly (string | number)[];

/** It was sealed with another key, for another place, or it was changed. Which of them cannot be told. */
export class BrokenSeal extends Error {
  override name = "BrokenSeal";
}

export function newMasterKey(): MasterKey & { text: string } {
  const text = randomBytes(keyBytes).toString("base64");
  const master = parseMasterKey(text);
  if (master === null) throw new Error("A new master key is not readable");
  return { ...master, text };
}

/** 32 bytes as hex or base64, or null. */
export function parseMasterKey(text: string): MasterKey | null {
  const bytes = /^[0-9a-fA-F]{64}$/.test(text)
    ? Buffer.from(text, "hex")
    : /^[A-Za-z0-9+/_-]{43}=?$/.test(text)
      ? Buffer.from(text, "base64")
      : null;
  if (bytes?.length !== keyBytes) return null;
  const key = createSecretKey(bytes);
  return { kid: `mk_${keyed(key, "bridle master key id").slice(0, 16)}`, key };
}

/** A hash that only the holder of the key can compute: it tells equal texts apart and gives nobody a way to guess. */
export function keyed(key: KeyObject, text: string): string {
  return createHmac("sha256", key).update(text).digest("hex");
}

export function newDataKey(): KeyObject {
  return createSecretKey(randomBytes(keyBytes));
}

export function wrapKey(
  master: MasterKey,
  dataKey: KeyObject,
  version: number,
  place: Belonging,
): WrappedKey {
  const sealed = sealBytes(master.key, dataKey.export(), ["data_key", version, ...place]);
  return { kid: master.kid, version, sealed };
}

export function unwrapKey(master: MasterKey, wrapped: WrappedKey, place: Belonging): KeyObject {
  return createSecretKey(openBytes(master.key, wrapped.sealed, ["data_key", wrapped.version, ...place]));
}

export function sealSecret(dataKey: KeyObject, value: string, place: Belonging): string {
  return sealBytes(dataKey, Buffer.from(value, "utf8"), ["secret", ...place]);
}

export function openSecret(dataKey: KeyObject, sealed: string, place: Belonging): string {
  return openBytes(dataKey, sealed, ["secret", ...place]).toString("utf8");
}

function sealBytes(key: KeyObject, bytes: Uint8Array, belonging: Belonging): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(bound(belonging));
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]).toString("hex");
}

function openBytes(key: KeyObject, sealed: string, belonging: Belonging): Buffer {
  const bytes = Buffer.from(sealed, "hex");
  if (bytes.length < nonceBytes + tagBytes) throw new BrokenSeal("It is too short to be sealed.");
  const nonce = bytes.subarray(0, nonceBytes);
  const tag = bytes.subarray(bytes.length - tagBytes);
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  decipher.setAAD(bound(belonging));
  decipher.setAuthTag(tag);
  try {
    return Buffer.concat([
      decipher.update(bytes.subarray(nonceBytes, bytes.length - tagBytes)),
      decipher.final(),
    ]);
  } catch {
    throw new BrokenSeal("It does not open.");
  }
}

/** JSON keeps the parts apart: ["ab", "c"] is not ["a", "bc"]. */
function bound(belonging: Belonging): Buffer {
  return Buffer.from(JSON.stringify(["bridle-vault/1", ...belonging]), "utf8");
}
