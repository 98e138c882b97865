/** What a witness remembers of a chain and refuses to forget: that every head it is shown goes on from the one before. */

import { formatNote, parseCheckpoint, parseNote, type SignedNote, signedBy } from "./checkpoint.ts";
import { isConsistent } from "./consistency.ts";
import { type SigningKey, verifySignature } from "./keys.ts";
import { nodeHash } from "./merkle.ts";
import { type PublicJwk, signaturePrefix } from "./public-keys.ts";
import { cosign } from "./sign-checkpoint.ts";

/** The log says something else than it said before, and both are signed. */
export class HistoryRewritten extends Error {
  override name = "HistoryRewritten";
  readonly before: string;
  readonly now: string;

  constructor(what: string, before: string, now: string) {
    super(`The history was rewritten: ${what}`);
    this.before = before;
    this.now = now;
  }
}

export interface Seen {
  /** The note that was published. */
  note: string;
  /** The keys that may have signed it. */
  keys: readonly PublicJwk[];
  /** The proof that a tree of `from` leaves is the beginning of one of `to`. */
  prove(from: number, to: number): Promise<string[]>;
}

export interface Witness {
  name: string;
  key: SigningKey;
}

/** The note with the witness's signature under it, to be kept. Throws `HistoryRewritten` when it does not go on from `kept`. */
export async function witness(
  { name, key }: Witness,
  kept: string | null,
  { note, keys, prove }: Seen,
  seconds: number,
): Promise<string> {
  const now = read(note, keys);
  if (kept !== null) {
    const before = read(kept, null);
    if (before.origin !== now.origin) {
      throw new HistoryRewritten(`it was the chain ${before.origin} and is ${now.origin}.`, kept, note);
    }
    if (now.size < before.size) {
      throw new HistoryRewritten(`it had ${before.size} receipts and has ${now.size}.`, kept, note);
    }
    const path = now.size === before.size ? [] : await prove(before.size, now.size);
    if (!(await isConsistent({ first: before, second: now, path }, nodeHash))) {
      const what = `its first ${before.size} receipts are not those that it had before.`;
      throw new HistoryRewritten(what, kept, note);
    }
  }
  const { text, signatures } = now.signed;
  return formatNote({ text, signatures: [...signatures, cosign(text, name, key, seconds)] });
}

/** A checkpoint that its log has signed; one that was kept is trusted. */
function read(note: string, keys: readonly PublicJwk[] | null) {
  const signed = parseNote(note);
  const checkpoint = signed === null ? null : parseCheckpoint(signed.text);
  if (signed === null || checkpoint === null) throw new Error("What was published is not a checkpoint.");
  const own = signed.signatures.filter(({ name }) => name === checkpoint.origin);
  if (keys !== null && !own.some((line) => keys.some((key) => isBy(key, signed, line)))) {
    throw new Error("The checkpoint is not signed by a key of its log.");
  }
  return { ...checkpoint, signed: { text: signed.text, signatures: own } };
}

function isBy(key: PublicJwk, { text }: SignedNote, line: SignedNote["signatures"][number]): boolean {
  const signed = signedBy("log", text, line);
  if (signed === null) return false;
  return verifySignature(
    key,
    signed.text,
    signaturePrefix + Buffer.from(signed.signature).toString("base64"),
  );
}
