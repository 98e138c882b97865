/** Ed25519 keys: the one that signs receipts here, and how a signature of another is verified. */

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
import { encodedSignature, type PublicJwk, publicJwk, signaturePrefix } from "./public-keys.ts";

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
    const encoded = encodedSignature(signature);
    if (encoded === null) return false;
    return verify(null, Buffer.from(text, "utf8"), publicKeyOf(jwk), Buffer.from(encoded, "base64"));
  } catch {
    return false;
  }
}

/** A key that may come from another thread. */
export function signingKey(privateKey: KeyObject): SigningKey {
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
