/** base64url without padding (RFC 4648, section 5), and one spelling only for the same bytes. */

import { HarpError } from "./harp-error.ts";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const values = new Map([...alphabet].map((character, value) => [character.charCodeAt(0), value]));

export function encodeBase64url(bytes: Uint8Array): string {
  let text = "";
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    bits = (bits << 8) | byte;
    held += 8;
    while (held >= 6) {
      held -= 6;
      text += alphabet.charAt((bits >> held) & 63);
    }
    bits &= (1 << held) - 1;
  }
  return held === 0 ? text : text + alphabet.charAt((bits << (6 - held)) & 63);
}

/**
 * Refuses what lenient decoders let pass: padding, the standard alphabet, white space, and bits behind the last byte.
 * Otherwise one signature would have many spellings, and a changed text could go unseen.
 */
export function decodeBase64url(text: string, byteLength?: number): Uint8Array<ArrayBuffer> {
  const length = Math.floor((text.length * 6) / 8);
  // One character alone is too few bits for a byte.
  if (text.length === 0 || text.length % 4 === 1) throw malformed("its length is wrong");
  if (byteLength !== undefined && length !== byteLength) {
    throw malformed(`expected ${byteLength} bytes, found ${length}`);
  }
  const bytes = new Uint8Array(length);
  let bits = 0;
  let held = 0;
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    const value = values.get(text.charCodeAt(i));
    if (value === undefined) throw malformed("a character is outside of the alphabet");
    bits = (bits << 6) | value;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes[at++] = bits >> held;
    bits &= (1 << held) - 1;
  }
  if (bits !== 0) throw malformed("bits are set behind the last byte");
  return bytes;
}

function malformed(why: string): HarpError {
  return new HarpError("HARP_ERR_TRANSPORT", `This is not base64url without padding: ${why}.`);
}
