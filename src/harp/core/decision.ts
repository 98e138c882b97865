/**
 * The decision: allow or deny, signed, and bound to one artifact. A gateway's body has no room for all that is signed;
 * the rest follows from the artifact, which both sides have, so either can put the signed bytes together again.
 */

import { type Artifact, assertHash, type DecisionTerms, type Scope, scopes, termsOf } from "./artifact.ts";
import { decodeBase64url, encodeBase64url } from "./base64url.ts";
import {
  bareHashForm,
  canonicalBytes,
  prefixedHashForm,
  sha256Hex,
  withoutPrefix,
  withPrefix,
} from "./canonical.ts";
import { randomBytes, sign, verify } from "./ciphers.ts";
import { HarpError } from "./harp-error.ts";
import type { ApproverKeys } from "./keys.ts";
import {
  base64url,
  closed,
  id,
  malformed,
  matching,
  object,
  oneOf,
  only,
  type Reader,
  text,
  time,
} from "./read.ts";
import { isOver } from "./times.ts";
import type { DecisionBody } from "./wire.ts";

export type Verdict = "allow" | "deny";

export interface DecisionSignable {
  requestId: string;
  artifactHashAlg: "SHA-256";
  /** Bare hex. */
  artifactHash: string;
  repoRef: string;
  decision: Verdict;
  scope: Scope;
  expiresAt: string;
  nonce: string;
  sigAlg: "Ed25519";
  signerKeyId: string;
  policyHints?: Record<string, unknown>;
}

export interface Decision extends DecisionSignable {
  signature: string;
}

const signatureBytes = 64;
const nonceBytes = 16;
/** As much as a gateway takes of a remark. */
export const reasonBytesMax = 2048;

/** Between the words of a gateway and those that are signed; there are no others. */
const wordOf = { allow: "approve", deny: "reject" } as const satisfies Record<
  Verdict,
  DecisionBody["decision"]
>;
const verdictOf = { approve: "allow", reject: "deny" } as const satisfies Record<
  DecisionBody["decision"],
  Verdict
>;

const signature = base64url(signatureBytes);

const readDecisionFields: Reader<Decision> = closed(
  {
    requestId: id,
    artifactHashAlg: only("SHA-256"),
    artifactHash: matching(bareHashForm, "64 lowercase hex digits"),
    repoRef: text,
    decision: oneOf(["allow", "deny"]),
    scope: oneOf(scopes),
    expiresAt: time,
    nonce: id,
    sigAlg: only("Ed25519"),
    signerKeyId: id,
    signature,
  },
  { policyHints: object },
);

const readBodyFields: Reader<DecisionBody> = closed(
  {
    artifactHash: matching(/^(?:sha256:)?[0-9a-f]{64}$/, "a SHA-256 hash"),
    decision: oneOf(["approve", "reject"]),
    signerKeyId: id,
    nonce: id,
    signature,
  },
  { reason, decisionHash: matching(prefixedHashForm, "a SHA-256 hash with its prefix") },
);

export function readDecision(value: unknown): Decision {
  return readDecisionFields(value, "decision");
}

/** As an enforcer wants it; a gateway lets pass more, since it cannot judge. */
export function readDecisionBody(value: unknown): DecisionBody {
  return readBodyFields(value, "body");
}

/** What is signed: all of the decision but the signature. */
export function signableBytes(signable: DecisionSignable | Decision): Uint8Array<ArrayBuffer> {
  const signed: Partial<Decision> = { ...signable };
  delete signed.signature;
  return canonicalBytes(signed);
}

export async function decisionHashOf(signable: DecisionSignable | Decision): Promise<string> {
  return withPrefix(await sha256Hex(signableBytes(signable)));
}

export interface Signing {
  artifact: Artifact;
  decision: Verdict;
  keys: Pick<ApproverKeys, "signerKeyId" | "ed25519">;
  /** Sixteen random bytes as base64url, unless given. */
  nonce?: string;
  /** Sign for all that the enforcer offers, where it offers anything; otherwise for one use. A denial never does. */
  useOfferedTerms?: boolean;
  /** Unsigned, and readable by the gateway. */
  reason?: string;
  /** When given, nothing is signed for an artifact that has expired by then. */
  nowMs?: number;
}

export async function signDecision(signing: Signing): Promise<DecisionBody> {
  const { artifact, decision, keys, nonce = encodeBase64url(randomBytes(nonceBytes)) } = signing;
  if (signing.nowMs !== undefined && isOver(artifact.expiresAt, signing.nowMs)) {
    throw new HarpError("HARP_ERR_EXPIRED", "The request has expired; nothing is signed for it any more.");
  }
  await assertHash(artifact);
  const terms = signing.useOfferedTerms === true && decision === "allow" ? termsOf(artifact) : null;
  const signable = signableOf(artifact, { decision, nonce, signerKeyId: keys.signerKeyId }, terms);
  return readDecisionBody({
    artifactHash: withPrefix(artifact.artifactHash),
    decision: wordOf[decision],
    signerKeyId: keys.signerKeyId,
    nonce,
    signature: encodeBase64url(await sign(keys.ed25519.privateKey, signableBytes(signable))),
    ...(signing.reason !== undefined && { reason: signing.reason }),
    decisionHash: await decisionHashOf(signable),
  });
}

/** What can have been signed: with the terms that were offered, if any, then with the default ones. */
export function rebuildDecisions(artifact: Artifact, body: DecisionBody): Decision[] {
  if (withoutPrefix(body.artifactHash) !== artifact.artifactHash) {
    throw new HarpError("HARP_ERR_HASH_MISMATCH", "The decision is about another artifact.");
  }
  const choice = {
    decision: verdictOf[body.decision],
    nonce: body.nonce,
    signerKeyId: body.signerKeyId,
  };
  const offered = choice.decision === "allow" ? termsOf(artifact) : null;
  const candidates = offered === null ? [null] : [offered, null];
  return candidates.map((terms) => ({
    ...signableOf(artifact, choice, terms),
    signature: body.signature,
  }));
}

/** False for whatever is not a signature by this key over exactly these bytes. */
export async function verifySignature(decision: Decision, publicKey: Uint8Array): Promise<boolean> {
  if (publicKey.length !== 32) return false;
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = decodeBase64url(decision.signature, signatureBytes);
  } catch {
    return false;
  }
  return await verify(publicKey, bytes, signableBytes(decision));
}

function signableOf(
  artifact: Artifact,
  choice: Pick<DecisionSignable, "decision" | "nonce" | "signerKeyId">,
  terms: DecisionTerms | null,
): DecisionSignable {
  return {
    requestId: artifact.requestId,
    artifactHashAlg: "SHA-256",
    artifactHash: artifact.artifactHash,
    repoRef: artifact.repoRef,
    scope: terms?.scope ?? "once",
    expiresAt: terms?.expiresAt ?? artifact.expiresAt,
    sigAlg: "Ed25519",
    ...choice,
    ...(terms?.sessionId !== undefined && { policyHints: { sessionId: terms.sessionId } }),
  };
}

function reason(value: unknown, at: string): string {
  const found = text(value, at);
  if (new TextEncoder().encode(found).length > reasonBytesMax) {
    throw malformed(`${at} is longer than ${reasonBytesMax} bytes`);
  }
  return found;
}
