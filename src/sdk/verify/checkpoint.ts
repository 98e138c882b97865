/** Checkpoints of chains and their cosignatures, verified by WebCrypto; and that one chain is the beginning of another. */

import {
  type Checkpoint,
  keyIdInput,
  keyIdOf,
  parseCheckpoint,
  parseNote,
  type SignatureKind,
  signedBy,
} from "../../receipts/checkpoint.ts";
import { type Consistency, isConsistent } from "../../receipts/consistency.ts";
import { type PublicJwk, signaturePrefix } from "../../receipts/public-keys.ts";
import { isSignedBy } from "./crypto.ts";
import { nodeHash } from "./merkle.ts";

/** A key that signatures under a note may be by. */
export interface NoteKey {
  /** As it stands in the line of the signature: the origin of the log, or the name of a witness. */
  name: string;
  kind: SignatureKind;
  jwk: PublicJwk;
}

export interface CheckpointVerdict {
  checkpoint: Checkpoint;
  /** Keys that signed it, of those that were given; witnesses with the time at which they saw it, in seconds since 1970. */
  signers: { key: NoteKey; seconds: number | null }[];
}

/** Null when it is no checkpoint. Whose signatures are enough is for the caller to say: an unsigned one has no signers. */
export async function verifyCheckpoint(
  note: string,
  keys: readonly NoteKey[],
): Promise<CheckpointVerdict | null> {
  const parsed = parseNote(note);
  const checkpoint = parsed === null ? null : parseCheckpoint(parsed.text);
  if (parsed === null || checkpoint === null) return null;
  const signers: CheckpointVerdict["signers"] = [];
  for (const key of keys) {
    const keyId = await idOf(key);
    for (const line of parsed.signatures) {
      if (line.name !== key.name || !isEqual(line.keyId, keyId)) continue;
      const signed = signedBy(key.kind, parsed.text, line);
      if (signed === null) continue;
      const signature = signaturePrefix + btoa(String.fromCharCode(...signed.signature));
      if (await isSignedBy(key.jwk, signed.text, signature)) signers.push({ key, seconds: signed.seconds });
    }
  }
  return { checkpoint, signers };
}

export function verifyConsistency(proof: Consistency): Promise<boolean> {
  return isConsistent(proof, nodeHash);
}

async function idOf({ name, kind, jwk }: NoteKey): Promise<Uint8Array> {
  const encoded = atob(jwk.x.replaceAll("-", "+").replaceAll("_", "/"));
  const publicKey = Uint8Array.from(encoded, (char) => char.charCodeAt(0));
  return keyIdOf(new Uint8Array(await crypto.subtle.digest("SHA-256", keyIdInput(name, kind, publicKey))));
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
