/**
 * Where ciphertext is kept. What is large is a blob that belongs to one exchange alone: a line with the exchange's uid
 * before the JSON keeps equal content of two exchanges apart, so that the one can be dropped without asking for the other.
 */

import { hash } from "node:crypto";
import type { Blob } from "../../store/port.ts";
import type { Ciphertext } from "../core/wire.ts";
import type { Sealed } from "./records/exchange.ts";

/** More than this would make the document, which is read and written with every change, a burden. */
const inlineCharsMax = 4 * 1024;

export function seal(uid: string, ciphertext: Ciphertext): { sealed: Sealed; blobs: Blob[] } {
  const json = JSON.stringify(ciphertext);
  if (json.length <= inlineCharsMax) return { sealed: { ciphertext }, blobs: [] };
  const bytes = Buffer.from(`${uid}\n${json}`);
  const sha256 = hash("sha256", bytes, "hex");
  return { sealed: { sha256, bytes: bytes.length }, blobs: [{ sha256, bytes }] };
}

export function openCiphertext(uid: string, bytes: Uint8Array): Ciphertext {
  const text = Buffer.from(bytes).toString("utf8");
  if (!text.startsWith(`${uid}\n`)) throw new Error("A blob is not that of its exchange");
  return JSON.parse(text.slice(uid.length + 1));
}

/** About what an envelope with it takes on the wire. */
export function sealedBytes(sealed: Sealed): number {
  return "sha256" in sealed ? sealed.bytes : inlineCharsMax;
}
