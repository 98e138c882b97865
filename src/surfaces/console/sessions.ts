/**
 * Browsers that signed in to the console. A session takes two secrets: one in a cookie, which scripts cannot read, and one that the page
 * keeps and sends as a header, which no other origin can do. Neither works alone: cookies are shared between the ports of a host.
 *
 * The credential behind a session is sealed with a key that is made from the cookie, so what is kept here, in memory and on disk, opens
 * nothing by itself. It is presented like any other with each request: a key that is revoked ends its sessions at once.
 */

import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from "node:crypto";
import { sameHash } from "../../policy/api-key.ts";
import { readPrivateFile, writePrivateFile } from "../../policy/private-file.ts";

/** How long a browser stays signed in, however often it is used. */
export const sessionMs = 7 * 24 * 60 * 60 * 1000;
/** Sessions of everybody, and of one key. The oldest of whoever has the most make room for more. */
const sessionsMax = 500;
const sessionsOfOneMax = 20;
const ivBytes = 12;
const tagBytes = 16;

interface Kept {
  /** A hash of whose it is, in hex. */
  owner: string;
  /** Hashes of the two secrets, in hex. */
  id: string;
  page: string;
  /** The credential: iv, ciphertext and tag, in base64. */
  sealed: string;
  until: number;
}

export interface SessionSecrets {
  cookie: string;
  page: string;
}

interface Deps {
  /** Where sessions are kept across restarts. */
  file: string;
  now(): number;
}

export class ConsoleSessions {
  readonly #deps: Deps;
  /** Oldest first. */
  #sessions: Map<string, Kept>;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#sessions = new Map(readKept(deps.file).map((kept) => [kept.id, kept]));
  }

  /** The owner is whoever the credential stands for: a key has any number of tokens. */
  begin(credential: string, ownerName: string): SessionSecrets {
    const secrets = { cookie: newSecret(), page: newSecret() };
    const id = idOf(secrets.cookie);
    const owner = hash("sha256", ownerName, "hex");
    this.#dropEnded();
    this.#makeRoom(owner);
    this.#sessions.set(id, {
      ...{ id, owner },
      page: hash("sha256", secrets.page, "hex"),
      sealed: seal(credential, secrets.cookie),
      until: this.#deps.now() + sessionMs,
    });
    this.#write();
    return secrets;
  }

  /** What a request with these two presents; null when they are not of one session. */
  credentialOf({ cookie, page }: SessionSecrets): string | null {
    const kept = this.#sessions.get(idOf(cookie));
    if (kept === undefined || kept.until <= this.#deps.now()) return null;
    return sameHash(hash("sha256", page, "hex"), kept.page) ? open(kept.sealed, cookie) : null;
  }

  end(cookie: string): void {
    if (this.#sessions.delete(idOf(cookie))) this.#write();
  }

  #makeRoom(owner: string): void {
    const byOwner = Map.groupBy(this.#sessions.values(), (kept) => kept.owner);
    const own = byOwner.get(owner) ?? [];
    const [most = []] = [...byOwner.values()].sort((a, b) => b.length - a.length);
    const crowd = own.length >= sessionsOfOneMax ? own : this.#sessions.size >= sessionsMax ? most : [];
    const [oldest] = crowd;
    if (oldest !== undefined) this.#sessions.delete(oldest.id);
  }

  #dropEnded(): void {
    for (const { id, until } of this.#sessions.values()) {
      if (until <= this.#deps.now()) this.#sessions.delete(id);
    }
  }

  #write(): void {
    writePrivateFile(this.#deps.file, JSON.stringify([...this.#sessions.values()]));
  }
}

function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

function idOf(cookie: string): string {
  return hash("sha256", `console session ${cookie}`, "hex");
}

function keyOf(cookie: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", cookie, "", "bridle console session", 32));
}

function seal(credential: string, cookie: string): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv("aes-256-gcm", keyOf(cookie), iv);
  const sealed = [iv, cipher.update(credential, "utf8"), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString("base64");
}

function open(sealed: string, cookie: string): string | null {
  const bytes = Buffer.from(sealed, "base64");
  const decipher = createDecipheriv("aes-256-gcm", keyOf(cookie), bytes.subarray(0, ivBytes));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    return decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, "utf8") + decipher.final("utf8");
  } catch {
    return null;
  }
}

/** A file that cannot be read costs nothing but signing in again. */
function readKept(file: string): Kept[] {
  try {
    const value: unknown = JSON.parse(readPrivateFile(file) ?? "[]");
    return Array.isArray(value) ? value.filter(isKept) : [];
  } catch {
    return [];
  }
}

function isKept(value: unknown): value is Kept {
  const { id, owner, page, sealed, until }: Record<string, unknown> = Object(value);
  const isHash = (text: unknown) => typeof text === "string" && /^[0-9a-f]{64}$/.test(text);
  const isSealed = typeof sealed === "string" && sealed.length >= (ivBytes + tagBytes) * 1.3;
  return isHash(id) && isHash(owner) && isHash(page) && isSealed && typeof until === "number";
}
