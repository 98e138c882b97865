/**
 * Tickets stand for a credential where it cannot be sent as a header and must not be in an address: a browser that opens
 * a WebSocket. A ticket is good once and for a short time, in this process. It carries no rights of its own: when it is
 * used, the credential is looked at as if it had been presented itself.
 */

import { hash, randomBytes } from "node:crypto";

/** Tickets that wait to be used; beyond this the oldest are forgotten, which takes far longer than using one. */
const ticketsMax = 10_000;

interface Waiting {
  credential: string;
  expiresAt: number;
}

export class Tickets {
  /** By the hash of the ticket, oldest first. How long a look-up takes says nothing about tickets that exist. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #now: () => number;
  readonly #ttlMs: number;

  constructor(now: () => number, ttlMs: number) {
    this.#now = now;
    this.#ttlMs = ttlMs;
  }

  issue(credential: string): { ticket: string; expiresAt: number } {
    const ticket = `ticket_${randomBytes(32).toString("base64url")}`;
    const expiresAt = this.#now() + this.#ttlMs;
    for (const [key, oldest] of this.#waiting) {
      if (oldest.expiresAt > this.#now() && this.#waiting.size < ticketsMax) break;
      this.#waiting.delete(key);
    }
    this.#waiting.set(hashOf(ticket), { credential, expiresAt });
    return { ticket, expiresAt };
  }

  /** The credential that the ticket stands for, the first time it is asked for. */
  redeem(ticket: string): string | null {
    const key = hashOf(ticket);
    const found = this.#waiting.get(key);
    this.#waiting.delete(key);
    return found === undefined || found.expiresAt <= this.#now() ? null : found.credential;
  }
}

function hashOf(ticket: string): string {
  return hash("sha256", ticket, "hex");
}
