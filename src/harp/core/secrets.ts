/**
 * An approver's private keys under a passphrase, for a file or a browser's storage: AES-256-GCM with a key that
 * PBKDF2 makes of the passphrase. What says how that was done is covered by the tag, all of it.
 */

import { decodeBase64url, encodeBase64url } from "./base64url.ts";
import { canonicalBytes, parseCanonical } from "./canonical.ts";
import { type Bytes, decrypt, encrypt, pbkdf2, randomBytes } from "./ciphers.ts";
import { HarpError } from "./harp-error.ts";
import { base64url, closed, integer, only, type Reader, time, uuid } from "./read.ts";

/** Raw keys as base64url. Only ever on the way into, or out of, something encrypted. */
export interface ApproverSecrets {
  v: 1;
  deviceId: string;
  createdAt: string;
  ed25519: { seed: string; publicKey: string };
  x25519: { seed: string; publicKey: string };
}

export interface EncryptedSecrets {
  v: 1;
  kdf: "PBKDF2-SHA-256";
  iterations: number;
  salt: string;
  alg: "AES-256-GCM";
  nonce: string;
  /** With the tag at its end. */
  data: string;
}

/** What OWASP asks of PBKDF2 with SHA-256; fewer would make guessing cheap. */
export const iterationsMin = 600_000;
/** A file that asks for more would keep a processor busy for minutes. */
const iterationsMax = 10_000_000;
const saltBytes = 16;
const nonceBytes = 12;

const pair = closed({ seed: base64url(32), publicKey: base64url(32) });
const readFields: Reader<ApproverSecrets> = closed({
  v: only(1),
  deviceId: uuid,
  createdAt: time,
  ed25519: pair,
  x25519: pair,
});
const readEncrypted: Reader<EncryptedSecrets> = closed({
  v: only(1),
  kdf: only("PBKDF2-SHA-256"),
  iterations: integer(iterationsMin, iterationsMax),
  salt: base64url(saltBytes),
  alg: only("AES-256-GCM"),
  nonce: base64url(nonceBytes),
  data: base64url(),
});

export function readSecrets(value: unknown): ApproverSecrets {
  return readFields(value, "secrets");
}

/** Its shape only; whether it opens is found out with the passphrase. */
export function readEncryptedSecrets(value: unknown): EncryptedSecrets {
  return readEncrypted(value, "encrypted secrets");
}

export async function encryptSecrets(
  secrets: ApproverSecrets,
  passphrase: string,
): Promise<EncryptedSecrets> {
  const header = {
    v: 1,
    kdf: "PBKDF2-SHA-256",
    iterations: iterationsMin,
    salt: encodeBase64url(randomBytes(saltBytes)),
    alg: "AES-256-GCM",
    nonce: encodeBase64url(randomBytes(nonceBytes)),
  } as const;
  const key = await keyOf(header, passphrase);
  const data = await encrypt(
    key,
    decodeBase64url(header.nonce),
    canonicalBytes(readSecrets(secrets)),
    canonicalBytes(header),
  );
  key.fill(0);
  return { ...header, data: encodeBase64url(data) };
}

export async function decryptSecrets(blob: unknown, passphrase: string): Promise<ApproverSecrets> {
  const { data, ...header } = readEncryptedSecrets(blob);
  const key = await keyOf(header, passphrase);
  const nonce = decodeBase64url(header.nonce);
  const plaintext = await decrypt(key, nonce, decodeBase64url(data), canonicalBytes(header));
  key.fill(0);
  if (plaintext === null) {
    throw new HarpError(
      "HARP_ERR_POLICY_DENY",
      "The passphrase is wrong, or the encrypted keys were changed.",
      {
        reason: "wrong_passphrase",
      },
    );
  }
  return readSecrets(parseCanonical(plaintext));
}

async function keyOf(header: Omit<EncryptedSecrets, "data">, passphrase: string): Promise<Bytes> {
  return await pbkdf2(passphrase, decodeBase64url(header.salt), header.iterations);
}
