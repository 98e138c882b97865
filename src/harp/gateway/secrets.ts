/** What only those may know who were told: pairing codes, nonces, routing tokens. */

import { hash, randomBytes, randomInt } from "node:crypto";

export interface Secrets {
  /** Short enough to be typed, good for one use and a few minutes. */
  code(): string;
  nonce(): string;
  token(): string;
}

/** Nothing that is taken for something else when it is read aloud or copied by hand. */
const codeAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const codeLength = 8;
const secretBytes = 32;

export const randomSecrets: Secrets = {
  code: () =>
    Array.from({ length: codeLength }, () => codeAlphabet.charAt(randomInt(codeAlphabet.length))).join(""),
  nonce: () => `pn-${randomBytes(secretBytes).toString("base64url")}`,
  token: () => `rt-${randomBytes(secretBytes).toString("base64url")}`,
};

/** What a secret is found by: how long that takes says nothing about the secret. */
export function fingerprint(secret: string): string {
  return hash("sha256", secret, "hex");
}
