/** Links that sign a browser in once, as the administrator: whoever starts the server opens the console without copying a key. */

import { hash, randomBytes } from "node:crypto";

const linkMs = 10 * 60 * 1000;
/** The oldest makes room for another. */
const linksMax = 10;

export class SignInLinks {
  /** When each ends, by the hash of its code; oldest first. */
  readonly #links = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The code of a new link. It is in the fragment of an address, which is not sent to any server. */
  create(): string {
    const code = randomBytes(32).toString("base64url");
    const [oldest] = this.#links.keys();
    if (oldest !== undefined && this.#links.size >= linksMax) this.#links.delete(oldest);
    this.#links.set(hash("sha256", code), this.#now() + linkMs);
    return code;
  }

  /** Whether the code is good. It is not afterwards. */
  redeem(code: string): boolean {
    const name = hash("sha256", code);
    const until = this.#links.get(name) ?? 0;
    this.#links.delete(name);
    return until > this.#now();
  }
}
