/** The few operations of WebCrypto that HARP needs, on bytes. */

import { HarpError } from "./harp-error.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

const tagBits = 128;

export interface KeyPair {
  publicKey: Bytes;
  privateKey: CryptoKey;
}

export type Curve = "Ed25519" | "X25519";

/** Of private keys. Public ones are kept raw, and imported where they are used. */
const usagesOf: Record<Curve, ("sign" | "deriveBits")[]> = { Ed25519: ["sign"], X25519: ["deriveBits"] };

export function randomBytes(length: number): Bytes {
  return crypto.getRandomValues(new Uint8Array(length));
}

export async function generateKeyPair(curve: Curve, isExtractable: boolean): Promise<KeyPair> {
  const pair = await crypto.subtle.generateKey(curve, isExtractable, usagesOf[curve]);
  if (!("privateKey" in pair)) throw new TypeError(`${curve} gave no pair of keys`);
  const publicKey = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  return { publicKey, privateKey: pair.privateKey };
}

/** From the raw private key (RFC 8037's `d`) and the public key that belongs to it, both as base64url. Not extractable. */
export async function importPrivateKey(curve: Curve, d: string, x: string): Promise<CryptoKey> {
  const jwk = { kty: "OKP", crv: curve, d, x };
  return await crypto.subtle.importKey("jwk", jwk, { name: curve }, false, usagesOf[curve]);
}

/** The raw private key as base64url. */
export async function exportPrivateKey(key: CryptoKey): Promise<string> {
  const { d } = await crypto.subtle.exportKey("jwk", key);
  if (d === undefined) throw new TypeError("This is not a private key");
  return d;
}

export async function sign(privateKey: CryptoKey, message: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.sign({ name: "Ed25519" }, privateKey, message));
}

export async function verify(publicKey: Uint8Array, signature: Bytes, message: Bytes): Promise<boolean> {
  const key = await crypto.subtle.importKey("raw", new Uint8Array(publicKey), { name: "Ed25519" }, false, [
    "verify",
  ]);
  return await crypto.subtle.verify({ name: "Ed25519" }, key, signature, message);
}

/** A public key of small order gives zeros whatever the private key: a secret that everybody knows. */
export async function agree(privateKey: CryptoKey, publicKey: Uint8Array): Promise<Bytes> {
  const secret = await agreeOrZeros(privateKey, publicKey);
  if (secret.every((byte) => byte === 0)) {
    throw new HarpError("HARP_ERR_TRANSPORT", "The X25519 key gives no secret.", { reason: "zero_secret" });
  }
  return secret;
}

/** Platforms refuse the zeros on their own, each with an error of its own. */
async function agreeOrZeros(privateKey: CryptoKey, publicKey: Uint8Array): Promise<Bytes> {
  const peer = await crypto.subtle.importKey("raw", new Uint8Array(publicKey), { name: "X25519" }, false, []);
  try {
    return new Uint8Array(await crypto.subtle.deriveBits({ name: "X25519", public: peer }, privateKey, 256));
  } catch {
    return new Uint8Array(32);
  }
}

export async function hkdf(secret: Bytes, salt: Bytes, info: Bytes, byteLength: number): Promise<Bytes> {
  const key = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const how = { name: "HKDF", hash: "SHA-256", salt, info };
  return new Uint8Array(await crypto.subtle.deriveBits(how, key, byteLength * 8));
}

export async function pbkdf2(passphrase: string, salt: Bytes, iterations: number): Promise<Bytes> {
  const secret = new TextEncoder().encode(passphrase);
  const key = await crypto.subtle.importKey("raw", secret, "PBKDF2", false, ["deriveBits"]);
  const how = { name: "PBKDF2", hash: "SHA-256", salt, iterations };
  return new Uint8Array(await crypto.subtle.deriveBits(how, key, 256));
}

/** AES-256-GCM: the ciphertext, then the tag of 16 bytes. */
export async function encrypt(key: Bytes, nonce: Bytes, plaintext: Bytes, aad: Bytes): Promise<Bytes> {
  const cipherKey = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  const how = { name: "AES-GCM", iv: nonce, additionalData: aad, tagLength: tagBits };
  return new Uint8Array(await crypto.subtle.encrypt(how, cipherKey, plaintext));
}

/** Null when the tag does not fit: another key, or something was changed. */
export async function decrypt(key: Bytes, nonce: Bytes, sealed: Bytes, aad: Bytes): Promise<Bytes | null> {
  const cipherKey = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]);
  const how = { name: "AES-GCM", iv: nonce, additionalData: aad, tagLength: tagBits };
  try {
    return new Uint8Array(await crypto.subtle.decrypt(how, cipherKey, sealed));
  } catch {
    return null;
  }
}

export function concat(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
