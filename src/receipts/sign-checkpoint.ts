/** Signs checkpoints, as the log that they are of and as a witness of one. */

import { hash } from "node:crypto";
import {
  type Checkpoint,
  checkpointText,
  cosignatureOf,
  cosignedText,
  keyIdInput,
  keyIdOf,
  type NoteSignature,
  type SignatureKind,
  type SignedNote,
} from "./checkpoint.ts";
import type { SigningKey } from "./keys.ts";
import { signaturePrefix } from "./public-keys.ts";

/** The name of the log's key is the origin. */
export function signCheckpoint(checkpoint: Checkpoint, key: SigningKey): SignedNote {
  const text = checkpointText(checkpoint);
  const keyId = noteKeyId(checkpoint.origin, "log", key);
  return { text, signatures: [{ name: checkpoint.origin, keyId, signature: signatureOf(key, text) }] };
}

/** Says that the witness saw it at this time, in seconds since 1970. */
export function cosign(text: string, name: string, key: SigningKey, seconds: number): NoteSignature {
  const signature = cosignatureOf(seconds, signatureOf(key, cosignedText(text, seconds)));
  return { name, keyId: noteKeyId(name, "witness", key), signature };
}

function noteKeyId(name: string, kind: SignatureKind, { jwk }: SigningKey): Uint8Array {
  const input = keyIdInput(name, kind, Buffer.from(jwk.x, "base64url"));
  return keyIdOf(hash("sha256", input, "buffer"));
}

function signatureOf(key: SigningKey, text: string): Uint8Array {
  return Buffer.from(key.sign(text).slice(signaturePrefix.length), "base64");
}
