/** The signature of an agent card: JWS (RFC 7515) over the canonical form (RFC 8785) of the card without its signatures. */

import { decodeBase64url, encodeBase64url } from "../../harp/core/base64url.ts";
import type { PublicJwk } from "../../receipts/public-keys.ts";
import { canonicalJson } from "../../web/canonical-json.ts";
import { isSignedByBytes } from "./crypto.ts";

/** More are no card's, but somebody's try to keep us busy. */
const signaturesMax = 16;

/** The id of the key that signed this card, if it is one of these; null when none of them did. Never throws. */
export async function verifyAgentCard(card: unknown, keys: readonly PublicJwk[]): Promise<string | null> {
  if (!isRecord(card) || !Array.isArray(card.signatures)) return null;
  const { signatures, ...rest } = card;
  const payload = canonicalOf(rest);
  if (payload === null) return null;
  for (const entry of card.signatures.slice(0, signaturesMax)) {
    if (!isRecord(entry) || typeof entry.protected !== "string" || typeof entry.signature !== "string")
      continue;
    const header = headerIn(entry.protected);
    if (header === null || (header.alg !== "EdDSA" && header.alg !== "Ed25519")) continue;
    const signed = `${entry.protected}.${encodeBase64url(new TextEncoder().encode(payload))}`;
    const signature = bytesIn(entry.signature);
    for (const key of keys) {
      if (key.kid !== header.kid || signature === null) continue;
      if (await isSignedByBytes(key, signed, signature)) return key.kid;
    }
  }
  return null;
}

function canonicalOf(value: unknown): string | null {
  try {
    return canonicalJson(value);
  } catch {
    return null;
  }
}

function headerIn(encoded: string): Record<string, unknown> | null {
  const bytes = bytesIn(encoded);
  try {
    const header: unknown = bytes === null ? null : JSON.parse(new TextDecoder().decode(bytes));
    return isRecord(header) ? header : null;
  } catch {
    return null;
  }
}

function bytesIn(encoded: string): Uint8Array<ArrayBuffer> | null {
  try {
    return decodeBase64url(encoded);
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
