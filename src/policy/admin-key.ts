/** The administrator's key: the one the operator set, or one made on first start and kept where only they can read it. */

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { KeyFileDamaged, readPrivateFile, writePrivateFile } from "./private-file.ts";

export interface AdminKey {
  key: string;
  origin: "setting" | "created" | "file";
  file: string;
}

/** Shorter ones could be guessed, and an empty one would let everybody in. */
export const adminKeyCharsMin = 24;

export function isAdminKey(text: string): boolean {
  return text.length >= adminKeyCharsMin && !/\s/.test(text);
}

export function loadAdminKey(file: string, fixed: string | null): AdminKey {
  if (fixed !== null) {
    if (!isAdminKey(fixed))
      throw new Error(`The API key needs at least ${adminKeyCharsMin} characters and no spaces.`);
    return { key: fixed, origin: "setting", file };
  }
  const text = readPrivateFile(file);
  if (text !== null) return { key: checked(file, text), origin: "file", file };
  const key = newAdminKey();
  writePrivateFile(file, `${key}\n`);
  return { key, origin: "created", file };
}

/** The key in the file, for clients on the same machine; null if there is no file. */
export function readAdminKey(file: string): string | null {
  return existsSync(file) ? checked(file, readFileSync(file, "utf8")) : null;
}

function newAdminKey(): string {
  return `bridle_admin_${randomBytes(32).toString("base64url")}`;
}

function checked(file: string, text: string): string {
  const key = text.trim();
  if (isAdminKey(key)) return key;
  const what = key === "" ? "is empty" : "does not contain an administrator key";
  throw new KeyFileDamaged(
    file,
    what,
    "Restore it from a backup, or delete it: the next start makes a new key.",
  );
}
