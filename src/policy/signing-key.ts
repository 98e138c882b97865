/** The key that receipts are signed with, in a file that only its owner can read; made on first start. */

import { chmodSync, existsSync, readFileSync } from "node:fs";
import { newSigningKey, type SigningKey, signingKeyFromPem } from "../receipts/keys.ts";
import { writePrivateFile } from "./private-file.ts";

export function loadSigningKey(file: string): SigningKey {
  if (existsSync(file)) {
    chmodSync(file, 0o600);
    return signingKeyFromPem(readFileSync(file, "utf8"));
  }
  const { key, pem } = newSigningKey();
  keepSigningKey(file, pem);
  return key;
}

export function keepSigningKey(file: string, pem: string): void {
  writePrivateFile(file, pem);
}
