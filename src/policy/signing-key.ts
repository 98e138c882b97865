/** The key that receipts are signed with, in a file that only its owner can read; made on first start. */

import { newSigningKey, type SigningKey, signingKeyFromPem } from "../receipts/keys.ts";
import { KeyFileDamaged, readPrivateFile, writePrivateFile } from "./private-file.ts";

export function loadSigningKey(file: string): SigningKey {
  const kept = readSigningKey(file);
  if (kept !== null) return kept;
  const { key, pem } = newSigningKey();
  keepSigningKey(file, pem);
  return key;
}

/** The key in the file; null if there is no file. */
export function readSigningKey(file: string): SigningKey | null {
  const pem = readPrivateFile(file);
  if (pem === null) return null;
  try {
    return signingKeyFromPem(pem);
  } catch {
    const what = pem.trim() === "" ? "is empty" : "does not contain an Ed25519 private key";
    throw new KeyFileDamaged(file, what, damagedAdvice);
  }
}

const damagedAdvice =
  "Restore it from a backup; or delete it, and a new key signs from the next start on. Receipts signed so far stay valid.";

export function keepSigningKey(file: string, pem: string): void {
  writePrivateFile(file, pem);
}
