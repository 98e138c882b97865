/** The enforcer's own key: a file that only the server can read. Whoever has the database alone cannot add an approver. */

import { createHmac, hkdfSync, randomBytes } from "node:crypto";
import { KeyFileDamaged, readPrivateFile, writePrivateFile } from "./private-file.ts";

export interface EnforcerKey {
  /** What approvers are shown while pairing. */
  bundle: string;
  mac(purpose: string, text: string): string;
  /** A key for another use. Whoever knows one of them learns nothing about the others, nor about this key. */
  derive(label: string): Uint8Array;
}

interface Kept {
  mac_key: string;
  bundle: string;
}

const macKeyBytes = 32;

/** Makes the key when there is none; without a file it lives as long as the process. */
export async function loadEnforcerKey(
  file: string | null,
  newBundle: () => Promise<string>,
): Promise<EnforcerKey> {
  const kept = (file === null ? null : readEnforcerKey(file)) ?? (await make(file, newBundle));
  const key = Buffer.from(kept.mac_key, "base64url");
  return {
    bundle: kept.bundle,
    mac: (purpose, text) => createHmac("sha256", key).update(`${purpose}\n${text}`).digest("hex"),
    derive: (label) => deriveKey(key, label),
  };
}

export function deriveKey(key: Uint8Array, label: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", key, "", label, macKeyBytes));
}

/** The key in the file; null if there is no file. */
export function readEnforcerKey(file: string): Kept | null {
  const text = readPrivateFile(file);
  if (text === null) return null;
  const kept = parse(text);
  if (kept !== null) return kept;
  const what = text.trim() === "" ? "is empty" : "does not contain an enforcer key";
  throw new KeyFileDamaged(file, what, "Restore it from a backup.");
}

function parse(text: string): Kept | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || !("mac_key" in value) || !("bundle" in value))
      return null;
    const { mac_key, bundle } = value;
    if (typeof mac_key !== "string" || typeof bundle !== "string") return null;
    return Buffer.from(mac_key, "base64url").length === macKeyBytes ? { mac_key, bundle } : null;
  } catch {
    return null;
  }
}

async function make(file: string | null, newBundle: () => Promise<string>): Promise<Kept> {
  const kept = { mac_key: randomBytes(macKeyBytes).toString("base64url"), bundle: await newBundle() };
  if (file !== null) writePrivateFile(file, `${JSON.stringify(kept)}\n`);
  return kept;
}
