/** The administrator's key: the one the operator set, or one made on first start and kept where only they can read it. */

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { hashApiKey, sameHash } from "./api-key.ts";
import { KeyFileDamaged, readPrivateFile, writePrivateFile } from "./private-file.ts";

export interface AdminKey {
  key: string;
  origin: "setting" | "created" | "file";
  file: string;
}

/** The administrator's key of a running server: it can be replaced and switched off. */
export class AdminKeyHolder implements AdminKey {
  #current: AdminKey;
  /** In the file already, and not in the log yet. */
  #next: AdminKey | null = null;
  #hashes: readonly string[];
  #isDisabled = false;
  readonly #listeners = new Set<() => void>();

  constructor(current: AdminKey) {
    this.#current = current;
    this.#hashes = [hashApiKey(current.key)];
  }

  get key(): string {
    return this.#current.key;
  }

  get origin(): AdminKey["origin"] {
    return this.#current.origin;
  }

  get file(): string {
    return this.#current.file;
  }

  get isDisabled(): boolean {
    return this.#isDisabled;
  }

  /** Whether whoever presented something with this hash is the administrator. */
  accepts(hash: string): boolean {
    return !this.#isDisabled && this.#hashes.some((known) => sameHash(hash, known));
  }

  /**
   * Writes a new key to the file. The old one works until `useNext`: if the change cannot be recorded, both do, and the next start
   * knows only the new one.
   */
  prepareNext(): string {
    const { file } = this.#current;
    const key = newAdminKey();
    writePrivateFile(file, `${key}\n`);
    this.#next = { key, origin: "file", file };
    this.#hashes = [this.#current, this.#next].map((known) => hashApiKey(known.key));
    return key;
  }

  /** Ends the old key. */
  useNext(): void {
    if (this.#next === null) return;
    this.#current = this.#next;
    this.#next = null;
    this.#hashes = [hashApiKey(this.#current.key)];
    this.#notify();
  }

  setDisabled(isDisabled: boolean): void {
    this.#isDisabled = isDisabled;
    this.#notify();
  }

  /** Calls back whenever a key may have ended. Returns the way to stop it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
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
