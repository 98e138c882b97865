/** SHA-256 and Ed25519 as receipts write them, by WebCrypto. */

import { encodedSignature, type PublicJwk } from "../../receipts/public-keys.ts";

export async function sha256Of(data: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof data === "string" ? utf8(data) : data;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `sha256:${Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

export async function isSignedBy(jwk: PublicJwk, text: string, signature: string): Promise<boolean> {
  const encoded = encodedSignature(signature);
  if (encoded === null) return false;
  return await isSignedByBytes(
    jwk,
    text,
    Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0)),
  );
}

export async function isSignedByBytes(
  { kty, crv, x }: PublicJwk,
  text: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  try {
    const key = await crypto.subtle.importKey("jwk", { kty, crv, x }, "Ed25519", false, ["verify"]);
    return await crypto.subtle.verify("Ed25519", key, bytes, utf8(text));
  } catch (error) {
    // That this platform cannot verify says nothing about the signature.
    if (error instanceof DOMException && error.name === "NotSupportedError") throw error;
    return false;
  }
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
