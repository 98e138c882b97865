/**
 * The keys that others publish to be verified with (RFC 8037), and how a signature by one is written. Needs nothing but
 * the language.
 */

export interface PublicJwk {
  kty: "OKP";
  crv: "Ed25519";
  x: string;
  kid: string;
  alg: "EdDSA";
  use: "sig";
}

export interface Jwks {
  keys: PublicJwk[];
}

export function publicJwk(x: string, kid: string): PublicJwk {
  return { kty: "OKP", crv: "Ed25519", x, kid, alg: "EdDSA", use: "sig" };
}

/** The keys in a key set that a receipt can be verified with; null when it is no key set at all. */
export function publicKeysIn(value: unknown): PublicJwk[] | null {
  if (!isRecord(value) || !Array.isArray(value.keys) || !value.keys.every(isRecord)) return null;
  return value.keys.flatMap(ed25519KeyIn);
}

/** The use and the algorithm may go unsaid in a foreign key set, but not be said differently. */
function ed25519KeyIn({ kty, crv, x, kid, alg, use }: Record<string, unknown>): PublicJwk[] {
  const isOurs =
    kty === "OKP" &&
    crv === "Ed25519" &&
    (alg === undefined || alg === "EdDSA" || alg === "Ed25519") &&
    (use === undefined || use === "sig");
  if (!isOurs || typeof x !== "string" || typeof kid !== "string") return [];
  return keyForm.test(x) && kid !== "" ? [publicJwk(x, kid)] : [];
}

const keyForm = /^[A-Za-z0-9_-]{43}$/;

export const signaturePrefix = "base64:";

/** 64 bytes. Decoders are lenient (white space, the other alphabet, spare bits); here there is one text for one signature. */
const signatureForm = /^[A-Za-z0-9+/]{85}[AQgw]==$/;

/** The base64 in the text of a signature; null when it is not the text of one. */
export function encodedSignature(signature: string): string | null {
  if (!signature.startsWith(signaturePrefix)) return null;
  const encoded = signature.slice(signaturePrefix.length);
  return signatureForm.test(encoded) ? encoded : null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
