/**
 * How an approver opens a request: every check before anything is shown, since what a person sees has to be what the
 * hash covers. Only what comes out of here is rendered; a gateway's own words about it are not verified.
 */

import { type Artifact, assertHash, readArtifact, termsOf } from "./artifact.ts";
import { decodeBase64url } from "./base64url.ts";
import { parseCanonical, prefixedHashForm, withoutPrefix } from "./canonical.ts";
import { agree, type Bytes, concat, decrypt } from "./ciphers.ts";
import { HarpError } from "./harp-error.ts";
import { type ApproverKeys, kidOf } from "./keys.ts";
import {
  base64url,
  closed,
  id,
  list,
  malformed,
  matching,
  object,
  oneOf,
  only,
  type Reader,
  text,
  time,
} from "./read.ts";
import {
  artifactBytesMax,
  coreArtifactType,
  recipientsMax,
  type SealContext,
  sealAlg,
  sealBytes,
  sealKdf,
  sealProfile,
  type WrappedKey,
  wrappingKeyOf,
} from "./seal.ts";
import { isFromTheFuture, isOver, parseTime, skewMsDefault } from "./times.ts";
import type { ApprovalRequest } from "./wire.ts";

interface Sealed {
  epk: Bytes;
  nonce: Bytes;
  /** With the tag at its end, as WebCrypto wants it. */
  dataAndTag: Bytes;
  aad: Bytes;
  recipients: WrappedKey[];
}

/** What the message says in the open: a claim, until the sealed text says the same. */
interface Claims {
  requestId: string;
  artifactHash: string;
  artifactType: string;
  expiresAt: string;
}

/** base64url of this many bytes. */
const dataLengthMax = Math.ceil((artifactBytesMax * 4) / 3);
/** Six short members. */
const aadLengthMax = 4096;

const readRecipients = list(
  closed({ kid: base64url(sealBytes.key), wrapped: base64url(sealBytes.wrapped) }),
  1,
  recipientsMax,
);
const hash = matching(/^(?:sha256:)?[0-9a-f]{64}$/, "a SHA-256 hash");

const readContext: Reader<SealContext> = closed({
  alg: only(sealAlg),
  artifactHash: matching(prefixedHashForm, "a SHA-256 hash with its prefix"),
  artifactType: id,
  expiresAt: time,
  profile: only(sealProfile),
  requestId: id,
});

export async function openRequest(
  request: ApprovalRequest,
  keys: ApproverKeys,
  nowMs: number,
): Promise<Artifact> {
  const claims = readClaims(request);
  const sealed = readSealed(object(request.body, "body").ciphertextRef);
  const plaintext = await unseal(sealed, keys);
  const context = readContext(parseCanonical(sealed.aad), "aad");
  assertSame(claims, context);
  const artifact = readArtifact(parseCanonical(plaintext));
  await assertSealedAs(artifact, context);
  // Terms that contradict the artifact could not be shown for what they are.
  termsOf(artifact);
  assertTimely(artifact, nowMs);
  return artifact;
}

function readClaims(request: ApprovalRequest): Claims {
  oneOf(["approval.request"])(request.msgType, "msgType");
  const body = object(request.body, "body");
  return {
    requestId: id(request.requestId, "requestId"),
    artifactHash: withoutPrefix(hash(body.artifactHash, "body.artifactHash")),
    artifactType: id(body.artifactType, "body.artifactType"),
    expiresAt: time(request.expiresAt, "expiresAt"),
  };
}

/** Open, since a gateway passes on whatever was submitted; but what we use of it is read strictly. */
function readSealed(value: unknown): Sealed {
  const reference = object(value, "ciphertextRef");
  only("inline")(reference.kind, "ciphertextRef.kind");
  only(sealProfile)(reference.profile, "ciphertextRef.profile");
  only(sealAlg)(reference.alg, "ciphertextRef.alg");
  only(sealKdf)(reference.kdf, "ciphertextRef.kdf");
  const recipients = readRecipients(reference.recipients, "ciphertextRef.recipients");
  if (new Set(recipients.map(({ kid }) => kid)).size < recipients.length) {
    throw malformed("ciphertextRef.recipients has a key twice");
  }
  const bytes = (name: string, lengthMax: number, byteLength?: number) => {
    const found = text(reference[name], `ciphertextRef.${name}`);
    if (found.length > lengthMax) throw malformed(`ciphertextRef.${name} is too long`);
    return decodeBase64url(found, byteLength);
  };
  return {
    epk: bytes("epk", 64, sealBytes.key),
    nonce: bytes("nonce", 64, sealBytes.nonce),
    dataAndTag: concat(bytes("data", dataLengthMax), bytes("tag", 64, sealBytes.tag)),
    aad: bytes("aad", aadLengthMax),
    recipients,
  };
}

async function unseal(sealed: Sealed, { x25519 }: ApproverKeys): Promise<Bytes> {
  const kid = await kidOf(x25519.publicKey);
  const mine = sealed.recipients.find((recipient) => recipient.kid === kid);
  if (mine === undefined) {
    throw new HarpError("HARP_ERR_POLICY_DENY", "The request is not sealed to this device.", {
      reason: "not_addressed",
    });
  }
  const secret = await agree(x25519.privateKey, sealed.epk);
  const wrapping = await wrappingKeyOf(secret, sealed.epk, x25519.publicKey);
  const contentKey = await decrypt(wrapping.key, wrapping.nonce, decodeBase64url(mine.wrapped), sealed.aad);
  secret.fill(0);
  wrapping.key.fill(0);
  if (contentKey === null) throw changedOnTheWay();
  const plaintext = await decrypt(contentKey, sealed.nonce, sealed.dataAndTag, sealed.aad);
  contentKey.fill(0);
  if (plaintext === null) throw changedOnTheWay();
  return plaintext;
}

function assertSame(claims: Claims, context: SealContext): void {
  const isSame =
    claims.requestId === context.requestId &&
    claims.artifactHash === withoutPrefix(context.artifactHash) &&
    claims.artifactType === context.artifactType &&
    // A gateway may write the same instant in another way.
    parseTime(claims.expiresAt) === parseTime(context.expiresAt);
  if (!isSame) throw notWhatWasSealed("The message says something else than what was sealed.");
}

async function assertSealedAs(artifact: Artifact, context: SealContext): Promise<void> {
  await assertHash(artifact);
  const isSame =
    artifact.artifactHash === withoutPrefix(context.artifactHash) &&
    artifact.requestId === context.requestId &&
    artifact.expiresAt === context.expiresAt &&
    (context.artifactType === coreArtifactType || context.artifactType === artifact.artifactType);
  if (!isSame) throw notWhatWasSealed("The artifact is not the one that the message is about.");
}

function assertTimely(artifact: Artifact, nowMs: number): void {
  if (isFromTheFuture(artifact.createdAt, nowMs, skewMsDefault)) {
    throw new HarpError("HARP_ERR_EXPIRED", "The artifact was made in the future.", {
      reason: "future_dated",
    });
  }
  if (isOver(artifact.expiresAt, nowMs)) {
    throw new HarpError("HARP_ERR_EXPIRED", "The artifact has expired.", { reason: "artifact_expired" });
  }
}

function changedOnTheWay(): HarpError {
  return new HarpError("HARP_ERR_TRANSPORT", "The request cannot be opened: it was changed on its way.", {
    reason: "not_decryptable",
  });
}

function notWhatWasSealed(message: string): HarpError {
  return new HarpError("HARP_ERR_HASH_MISMATCH", message);
}
