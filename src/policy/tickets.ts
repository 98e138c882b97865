/**
 * Tickets stand for a credential where it cannot be sent as a header and must not be in an address: a browser that opens
 * a WebSocket. A ticket is good once and for a short time, in this process. It carries no rights of its own: when it is
 * used, the credential is looked at as if it had been presented itself.
 */

import { hash, randomBytes } from "node:crypto";

/** Tickets of one credential that wait to be used; of more, its own oldest is forgotten. */
const ticketsMax = 100;

interface Waiting {
  credential: string;
  expiresAt: number;
}

export class Tickets {
  /** By the hash of the ticket, oldest first. How long a look-up takes says nothing about tickets that exist. */
  readonly #waiting = new Map<string, Waiting>();
  /** Those of each credential, so that nobody's tickets push out another's. */
  readonly #own = new Map<string, Set<string>>();
  readonly #now: () => number;
  readonly #ttlMs: number;

  /** `now` is of a clock that is never set. */
  constructor(now: () => number, ttlMs: number) {
    this.#now = now;
    this.#ttlMs = ttlMs;
  }

  issue(credential: string): { ticket: string; validMs: number } {
    const ticket = `ticket_${randomBytes(32).toString("base64url")}`;
    const expiresAt = this.#now() + this.#ttlMs;
    for (const [key, oldest] of this.#waiting) {
      if (oldest.expiresAt > this.#now()) break;
      this.#forget(key, oldest);
    }
    const own = this.#own.get(credential) ?? new Set();
    const [first] = own;
    if (own.size >= ticketsMax && first !== undefined) {
      this.#waiting.delete(first);
      own.delete(first);
    }
    const key = hashOf(ticket);
    this.#own.set(credential, own.add(key));
    this.#waiting.set(key, { credential, expiresAt });
    return { ticket, validMs: this.#ttlMs };
  }

  #forget(key: string, { credential }: Waiting): void {
    this.#waiting.delete(key);
    const own = this.#own.get(credential);
    own?.delete(key);
    if (own?.size === 0) this.#own.delete(credential);
  }

  /** The credential that the ticket stands for, the first time it is asked for. */
  redeem(ticket: string): string | null {
    const key = hashOf(ticket);
    const found = this.#waiting.get(key);
    if (found !== undefined) this.#forget(key, found);
    return found === undefined || found.expiresAt <= this.#now() ? null : found.credential;
  }
}

function hashOf(ticket: string): string {
  return hash("sha256", ticket, "hex");
}
