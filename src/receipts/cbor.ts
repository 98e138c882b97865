/**
 * A receipt as deterministic CBOR (RFC 8949, section 4.2.1): the same model as its JSON, in the one sequence of bytes that
 * stands for it.
 */

import { type DecodeOptions, decode, encode, rfc8949EncodeOptions, Tokenizer, Type } from "cborg";
import { canonicalJson } from "../web/canonical-json.ts";
import type { Receipt } from "./schema.ts";

export function encodeReceipt(receipt: Receipt): Uint8Array {
  return encodeModel(receipt);
}

const strictly: DecodeOptions = {
  strict: true,
  allowIndefinite: false,
  allowUndefined: false,
  allowInfinity: false,
  allowNaN: false,
  allowBigInt: false,
  rejectDuplicateMapKeys: true,
};

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The library drops a byte order mark at the start of a text; here it is a character like any other. */
class ExactTexts extends Tokenizer {
  constructor(bytes: Uint8Array) {
    super(bytes, { ...strictly, retainStringBytes: true });
  }

  override next() {
    const token = super.next();
    if (token.type === Type.string && token.byteValue !== undefined)
      token.value = utf8.decode(token.byteValue);
    return token;
  }
}

/** Gives back what the bytes say, which may not be a receipt; throws for bytes that `encodeReceipt` would not write. */
export function decodeReceipt(bytes: Uint8Array): unknown {
  const value: unknown = decode(bytes, { ...strictly, tokenizer: new ExactTexts(bytes) });
  if (Buffer.compare(encodeModel(value), bytes) !== 0) {
    throw new Error("The bytes are not the deterministic encoding of what they say");
  }
  return value;
}

/** By way of the canonical JSON, so that whatever has no JSON form (bytes, -0, undefined) has no CBOR form here either. */
function encodeModel(value: unknown): Uint8Array {
  return encode(JSON.parse(canonicalJson(value)), rfc8949EncodeOptions);
}
