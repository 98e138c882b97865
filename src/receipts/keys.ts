/** Ed25519 keys: the one that signs receipts here, and those that others publish to be verified with (RFC 8037). */

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { Type } from "typebox";
import { Compile } from "typebox/compile";

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

export interface SigningKey {
  kid: string;
  jwk: PublicJwk;
  /** `base64:` and the signature over the UTF-8 bytes of the text. */
  sign(text: string): string;
  /** For signatures of another form than `sign` gives. */
  privateKey: KeyObject;
}

export interface NewSigningKey {
  key: SigningKey;
  /** The private key, PKCS #8. */
  pem: string;
}

/** A key set as anybody may publish it: keys of other kinds and members unknown here are no fault. */
export const JwksSchema = Type.Object({ keys: Type.Array(Type.Object({})) });

const jwks = Compile(JwksSchema);

/** The curve, the use and the algorithm may go unsaid in a foreign key set, but not be said differently. */
const ed25519Jwk = Compile(
  Type.Object({
    kty: Type.Literal("OKP"),
    crv: Type.Literal("Ed25519"),
    x: Type.String({ pattern: "^[A-Za-z0-9_-]{43}$" }),
    kid: Type.String({ minLength: 1 }),
    alg: Type.Optional(Type.Enum(["EdDSA", "Ed25519"])),
    use: Type.Optional(Type.Literal("sig")),
  }),
);

/** The keys in a key set that a receipt can be verified with; null when it is no key set at all. */
export function publicKeysIn(value: unknown): PublicJwk[] | null {
  if (!jwks.Check(value)) return null;
  return value.keys.flatMap((key) => (ed25519Jwk.Check(key) ? [publicJwk(key.x, key.kid)] : []));
}

export function newSigningKey(): NewSigningKey {
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return { key: signingKey(privateKey), pem };
}

export function signingKeyFromPem(pem: string): SigningKey {
  const privateKey = createPrivateKey(pem);
  if (privateKey.asymmetricKeyType !== "ed25519") {
    throw new Error(`Expected an Ed25519 private key, found ${privateKey.asymmetricKeyType}`);
  }
  return signingKey(privateKey);
}

/** Strict: one text for one signature. Anything else, of whatever form, is simply not valid. */
export function verifySignature(jwk: PublicJwk, text: string, signature: string): boolean {
  try {
    const bytes = signatureBytes(signature);
    return bytes !== null && verify(null, Buffer.from(text, "utf8"), publicKeyOf(jwk), bytes);
  } catch {
    return false;
  }
}

const signaturePrefix = "base64:";
const signatureLength = 64;

function signatureBytes(signature: string): Buffer | null {
  if (!signature.startsWith(signaturePrefix)) return null;
  const encoded = signature.slice(signaturePrefix.length);
  const bytes = Buffer.from(encoded, "base64");
  // The decoder is lenient (white space, the other alphabet, spare bits); only what it would write itself is accepted.
  return bytes.length === signatureLength && bytes.toString("base64") === encoded ? bytes : null;
}

function signingKey(privateKey: KeyObject): SigningKey {
  const { x } = createPublicKey(privateKey).export({ format: "jwk" });
  if (x === undefined) throw new Error("An Ed25519 key without its public part");
  const jwk = publicJwk(x, keyIdOf(x));
  return {
    kid: jwk.kid,
    jwk,
    privateKey,
    sign: (text) => signaturePrefix + sign(null, Buffer.from(text, "utf8"), privateKey).toString("base64"),
  };
}

function publicJwk(x: string, kid: string): PublicJwk {
  return { kty: "OKP", crv: "Ed25519", x, kid, alg: "EdDSA", use: "sig" };
}

/** Enough of the thumbprint to never meet another key by accident: 132 bits. */
const keyIdLength = 22;

/** Named after the key itself (RFC 7638), so a key has the same id wherever it turns up. */
function keyIdOf(x: string): string {
  const thumbprint = hash("sha256", `{"crv":"Ed25519","kty":"OKP","x":"${x}"}`, "base64url");
  return `key_${thumbprint.slice(0, keyIdLength)}`;
}

function publicKeyOf({ kty, crv, x }: PublicJwk): KeyObject {
  const key = createPublicKey({ key: { kty, crv, x }, format: "jwk" });
  if (key.asymmetricKeyType !== "ed25519") throw new Error(`Expected an Ed25519 key, found ${crv}`);
  return key;
}
