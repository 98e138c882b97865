/** The key that receipts are signed with, in a file that only its owner can read; made on first start. */

import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { newSigningKey, type SigningKey, signingKeyFromPem } from "../receipts/keys.ts";

export function loadSigningKey(file: string): SigningKey {
  if (existsSync(file)) {
    chmodSync(file, 0o600);
    return signingKeyFromPem(readFileSync(file, "utf8"));
  }
  const { key, pem } = newSigningKey();
  keepSigningKey(file, pem);
  return key;
}

/** Whole or not at all: half a key after a crash would be no key. */
export function keepSigningKey(file: string, pem: string): void {
  const beside = `${file}.new`;
  const descriptor = openSync(beside, "w", 0o600);
  try {
    writeSync(descriptor, pem);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(beside, file);
}
