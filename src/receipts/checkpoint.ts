/**
 * The head of a chain of receipts as others publish theirs: a checkpoint of C2SP tlog-checkpoint in a signed note of C2SP signed-note,
 * with cosignatures of C2SP tlog-cosignature. Needs nothing but the language: hashing and signing are done elsewhere.
 *
 *   <origin>
 *   <number of receipts>
 *   <root of the Merkle tree, base64>
 *
 *   — <name of the key> <base64 of 4 bytes that name the key, and the signature>
 */

export interface Checkpoint {
  /** Which chain: the issuer, and the workspace. */
  origin: string;
  size: number;
  /** `sha256:<hex>`, as roots are written everywhere here. */
  root: string;
}

export interface NoteSignature {
  name: string;
  /** Of the key, as in `keyIdInput`. */
  keyId: Uint8Array;
  signature: Uint8Array;
}

export interface SignedNote {
  /** What is signed, with its last line feed. */
  text: string;
  signatures: NoteSignature[];
}

/** Kinds of signatures: of a log over the text, of a witness over a time and the text. */
export const signatureKinds = { log: 1, witness: 4 } as const;
export type SignatureKind = keyof typeof signatureKinds;

const keyIdBytes = 4;
const signatureBytes = 64;
const timeBytes = 8;
/** More than anybody publishes; a note is read before it is known whose it is. */
const noteCharsMax = 64 * 1024;
const signaturesMax = 100;
const rootBytes = 32;
const sizeForm = /^(?:0|[1-9]\d{0,15})$/;
const nameForm = /^[^\s+\p{Cc}]+$/u;

export function checkpointText({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${toBase64(fromHex(root.slice("sha256:".length)))}\n`;
}

/** Null when it is not one. Lines after the third are extensions, and are signed with the others. */
export function parseCheckpoint(text: string): Checkpoint | null {
  const [origin = "", size = "", root = "", ...rest] = text.split("\n");
  if (origin === "" || !sizeForm.test(size) || rest.length === 0 || rest.at(-1) !== "") return null;
  const bytes = fromBase64(root);
  if (bytes?.length !== rootBytes || !Number.isSafeInteger(Number(size))) return null;
  return { origin, size: Number(size), root: `sha256:${toHex(bytes)}` };
}

export function formatNote({ text, signatures }: SignedNote): string {
  const lines = signatures.map(({ name, keyId, signature }) => {
    const bytes = new Uint8Array([...keyId, ...signature]);
    return `— ${name} ${toBase64(bytes)}\n`;
  });
  return `${text}\n${lines.join("")}`;
}

export function parseNote(note: string): SignedNote | null {
  if (note.length > noteCharsMax || !note.endsWith("\n")) return null;
  const end = note.lastIndexOf("\n\n");
  if (end === -1) return null;
  const lines = note.slice(end + 2, -1).split("\n");
  if (lines.length > signaturesMax) return null;
  const signatures: NoteSignature[] = [];
  for (const line of lines) {
    const [dash, name = "", encoded = "", ...more] = line.split(" ");
    const bytes = fromBase64(encoded);
    const isLine = dash === "—" && nameForm.test(name) && more.length === 0;
    if (!isLine || bytes === null || bytes.length <= keyIdBytes) return null;
    signatures.push({ name, keyId: bytes.slice(0, keyIdBytes), signature: bytes.slice(keyIdBytes) });
  }
  return { text: note.slice(0, end + 1), signatures };
}

/** The first four bytes of the SHA-256 of this name a key. `publicKey` is the 32 bytes of Ed25519. */
export function keyIdInput(
  name: string,
  kind: SignatureKind,
  publicKey: Uint8Array,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array([...new TextEncoder().encode(name), 10, signatureKinds[kind], ...publicKey]);
}

export const keyIdOf = (digest: Uint8Array) => digest.slice(0, keyIdBytes);

/** What a witness signs: that it saw the checkpoint at this time, in seconds since 1970. */
export function cosignedText(text: string, seconds: number): string {
  return `cosignature/v1\ntime ${seconds}\n${text}`;
}

export function cosignatureOf(seconds: number, signature: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(timeBytes + signature.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(seconds));
  bytes.set(signature, timeBytes);
  return bytes;
}

/** What is signed, and by which bytes; null for a signature of another length. */
export function signedBy(
  kind: SignatureKind,
  text: string,
  { signature }: NoteSignature,
): { text: string; signature: Uint8Array; seconds: number | null } | null {
  if (kind === "log") return signature.length === signatureBytes ? { text, signature, seconds: null } : null;
  if (signature.length !== timeBytes + signatureBytes) return null;
  const seconds = Number(new DataView(signature.buffer, signature.byteOffset).getBigUint64(0));
  return { text: cosignedText(text, seconds), signature: signature.slice(timeBytes), seconds };
}

function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** One text for the same bytes: others decode to nothing. */
function fromBase64(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 !== 0) return null;
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  return toBase64(bytes) === text ? bytes : null;
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
}
