/** Who signs receipts here: the server's identity and the key it uses now. */

import type { NewSigningKey, SigningKey } from "../../receipts/keys.ts";
import type { Receipt } from "../../receipts/schema.ts";
import { protocolVersion } from "../core/protocol-version.ts";

export class Issuer {
  #key: SigningKey;
  #id = "harness";
  readonly #keep: (pem: string) => void;

  /** `keep` puts a new key where the next start finds it. */
  constructor(key: SigningKey, keep: (pem: string) => void) {
    this.#key = key;
    this.#keep = keep;
  }

  get key(): SigningKey {
    return this.#key;
  }

  get id(): string {
    return this.#id;
  }

  /** The id that the log has for this server. */
  adopt(id: string): void {
    this.#id = id;
  }

  /** Puts a key where the next start finds it: before the log calls the old one retired. */
  keep({ pem }: NewSigningKey): void {
    this.#keep(pem);
  }

  /** Signs with this key from now on. */
  use({ key }: NewSigningKey): void {
    this.#key = key;
  }

  describe(): Receipt["issuer"] {
    return {
      id: this.#id,
      kind: "harness",
      name: "Bridle",
      version: protocolVersion,
      public_key_id: this.#key.kid,
    };
  }

  /** Equal replays have equal receipts, whoever runs them: nothing here may tell one server from another. */
  describeReplay(): Receipt["issuer"] {
    return { id: "bridle", kind: "harness", name: "Bridle", version: protocolVersion };
  }
}
