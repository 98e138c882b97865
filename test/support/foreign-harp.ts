/**
 * The two sides of HARP once more, written from the specification alone on `node:crypto` and without a line of ours: an
 * approver that opens and signs, and an enforcer that seals and verifies. What they and Bridle agree on is not a shared mistake.
 */

import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  randomUUID,
  sign,
  verify,
} from "node:crypto";
import type { Json } from "./client.ts";

export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest();
const b64u = (data: Buffer | Uint8Array) => Buffer.from(data).toString("base64url");
const bytes = (text: string) => Buffer.from(text, "base64url");

const spki = { ed25519: "302a300506032b6570032100", x25519: "302a300506032b656e032100" };

function publicKeyOf(kind: keyof typeof spki, raw: Buffer): KeyObject {
  const der = Buffer.concat([Buffer.from(spki[kind], "hex"), raw]);
  return createPublicKey({ key: der, format: "der", type: "spki" });
}

function rawOf(key: KeyObject): Buffer {
  return key.export({ format: "der", type: "spki" }).subarray(-32);
}

function wrappingKey(secret: Buffer, epk: Buffer, recipient: Buffer): { key: Buffer; nonce: Buffer } {
  const salt = Buffer.concat([epk, recipient]);
  const okm = Buffer.from(hkdfSync("sha256", secret, salt, "harp-e2e-1/wrap", 44));
  return { key: okm.subarray(0, 32), nonce: okm.subarray(32) };
}

function encrypt(key: Buffer, nonce: Buffer, text: Buffer, aad: Buffer): { data: Buffer; tag: Buffer } {
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(aad);
  const data = Buffer.concat([cipher.update(text), cipher.final()]);
  return { data, tag: cipher.getAuthTag() };
}

function decrypt(key: Buffer, nonce: Buffer, data: Buffer, tag: Buffer, aad: Buffer): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", key, nonce).setAAD(aad).setAuthTag(tag);
  return Buffer.concat([decipher.update(data), decipher.final()]);
}

export class ForeignApprover {
  readonly #signing = generateKeyPairSync("ed25519");
  readonly #opening = generateKeyPairSync("x25519");
  readonly #ed25519 = rawOf(this.#signing.publicKey);
  readonly #x25519 = rawOf(this.#opening.publicKey);
  readonly signerKeyId = b64u(sha256(this.#ed25519));

  get fingerprint(): string {
    return sha256(Buffer.concat([this.#ed25519, this.#x25519])).toString("hex");
  }

  /** What goes into `publicKey` while pairing. */
  get bundle(): string {
    const fields = {
      v: 1,
      createdAt: new Date().toISOString(),
      deviceId: randomUUID(),
      ed25519: b64u(this.#ed25519),
      x25519: b64u(this.#x25519),
      signerKeyId: this.signerKeyId,
    };
    return b64u(Buffer.from(canonical(fields)));
  }

  open({ ciphertextRef }: Json): Json {
    const { epk, nonce, data, tag, aad, recipients } = ciphertextRef;
    const kid = b64u(sha256(this.#x25519));
    const { wrapped } = recipients.find((recipient: Json) => recipient.kid === kid);
    const ephemeral = publicKeyOf("x25519", bytes(epk));
    const secret = diffieHellman({ privateKey: this.#opening.privateKey, publicKey: ephemeral });
    const wrapping = wrappingKey(secret, bytes(epk), this.#x25519);
    const sealed = bytes(wrapped);
    const key = decrypt(
      wrapping.key,
      wrapping.nonce,
      sealed.subarray(0, 32),
      sealed.subarray(32),
      bytes(aad),
    );
    const text = decrypt(key, bytes(nonce), bytes(data), bytes(tag), bytes(aad)).toString("utf8");
    const artifact = JSON.parse(text);
    const { artifactHash, ...hashed } = artifact;
    if (canonical(artifact) !== text || sha256(canonical(hashed)).toString("hex") !== artifactHash) {
      throw new Error("What was opened is not what its hash says.");
    }
    return artifact;
  }

  decide(artifact: Json, decision: "allow" | "deny"): Json {
    const signable = {
      requestId: artifact.requestId,
      repoRef: artifact.repoRef,
      artifactHashAlg: "SHA-256",
      artifactHash: artifact.artifactHash,
      decision,
      scope: "once",
      expiresAt: artifact.expiresAt,
      nonce: b64u(randomBytes(16)),
      sigAlg: "Ed25519",
      signerKeyId: this.signerKeyId,
    };
    const text = Buffer.from(canonical(signable));
    return {
      artifactHash: `sha256:${artifact.artifactHash}`,
      decision: decision === "allow" ? "approve" : "reject",
      signerKeyId: this.signerKeyId,
      nonce: signable.nonce,
      signature: b64u(sign(null, text, this.#signing.privateKey)),
      decisionHash: `sha256:${sha256(text).toString("hex")}`,
    };
  }
}

export class ForeignEnforcer {
  /** An artifact and what the gateway is given of it, sealed for one approver. */
  ask(requestId: string, payload: Json, approverBundle: string): { artifact: Json; body: Json } {
    const { x25519 } = JSON.parse(bytes(approverBundle).toString("utf8"));
    const hashed = {
      requestId,
      artifactType: "command.review",
      repoRef: "repo:elsewhere",
      createdAt: new Date().toISOString(),
      expiresAt: new Date(Date.now() + 600_000).toISOString(),
      payload,
      artifactHashAlg: "SHA-256",
    };
    const artifact = { ...hashed, artifactHash: sha256(canonical(hashed)).toString("hex") };
    const { expiresAt } = artifact;
    const artifactHash = `sha256:${artifact.artifactHash}`;
    const outer = { alg: "AES-256-GCM", profile: "harp-e2e-1" };
    const aad = Buffer.from(
      canonical({ ...outer, artifactHash, artifactType: "core.artifact", expiresAt, requestId }),
    );
    const [key, nonce] = [randomBytes(32), randomBytes(12)];
    const { data, tag } = encrypt(key, nonce, Buffer.from(canonical(artifact)), aad);
    const ephemeral = generateKeyPairSync("x25519");
    const epk = rawOf(ephemeral.publicKey);
    const recipient = bytes(x25519);
    const publicKey = publicKeyOf("x25519", recipient);
    const secret = diffieHellman({ privateKey: ephemeral.privateKey, publicKey });
    const wrapping = wrappingKey(secret, epk, recipient);
    const wrapped = encrypt(wrapping.key, wrapping.nonce, key, aad);
    const ciphertext = {
      ...outer,
      kdf: "X25519+HKDF-SHA256",
      epk: b64u(epk),
      nonce: b64u(nonce),
      data: b64u(data),
      tag: b64u(tag),
      aad: b64u(aad),
      recipients: [
        { kid: b64u(sha256(recipient)), wrapped: b64u(Buffer.concat([wrapped.data, wrapped.tag])) },
      ],
    };
    return { artifact, body: { artifactType: "core.artifact", artifactHash, ciphertext, expiresAt } };
  }

  /** Whether the approver of this bundle has signed exactly that. */
  isSigned(artifact: Json, body: Json, approverBundle: string): boolean {
    const { ed25519, signerKeyId } = JSON.parse(bytes(approverBundle).toString("utf8"));
    if (body.signerKeyId !== signerKeyId) return false;
    const signable = {
      requestId: artifact.requestId,
      repoRef: artifact.repoRef,
      artifactHashAlg: "SHA-256",
      artifactHash: artifact.artifactHash,
      decision: body.decision === "approve" ? "allow" : "deny",
      scope: "once",
      expiresAt: artifact.expiresAt,
      nonce: body.nonce,
      sigAlg: "Ed25519",
      signerKeyId,
    };
    const key = publicKeyOf("ed25519", bytes(ed25519));
    return verify(null, Buffer.from(canonical(signable)), key, bytes(body.signature));
  }
}
