/**
 * Seals the secrets that documents must hold: AES-256-GCM, under a key derived from one that only the server's owner
 * can read. `loadSecretBox` is the one place that says where that key comes from.
 */

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { writePrivateFile } from "./private-file.ts";

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

export class SecretBox {
  readonly #key: Buffer;

  constructor(master: Uint8Array) {
    this.#key = Buffer.from(hkdfSync("sha256", master, "", "bridle.connector-secrets.v1", keyBytes));
  }

  /** `about` is what the secret belongs to: sealed for one thing, it does not open for another. */
  seal(secret: string, about: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    cipher.setAAD(Buffer.from(about));
    const sealed = Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return sealed.toString("base64url");
  }

  open(text: string, about: string): string {
    const sealed = Buffer.from(text, "base64url");
    const decipher = createDecipheriv("aes-256-gcm", this.#key, sealed.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(about));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    const opened = decipher.update(sealed.subarray(nonceBytes, -tagBytes));
    return Buffer.concat([opened, decipher.final()]).toString("utf8");
  }
}

/** The key is in a file of its own: the signing key changes when it is rotated, and this one must not. */
export function loadSecretBox(file: string): SecretBox {
  if (!existsSync(file)) writePrivateFile(file, `${randomBytes(keyBytes).toString("base64")}\n`);
  chmodSync(file, 0o600);
  const master = Buffer.from(readFileSync(file, "utf8").trim(), "base64");
  if (master.length !== keyBytes)
    throw new Error(`${file} does not hold a key of ${keyBytes} bytes in base64.`);
  return new SecretBox(master);
}
