/** The artifact: what is reviewed, in the form that is hashed. Every field that is there is part of the hash. */

import { encodeBase64url } from "./base64url.ts";
import { bareHashForm, canonicalBytes, sha256Hex } from "./canonical.ts";
import { HarpError } from "./harp-error.ts";
import {
  closed,
  id,
  isObject,
  malformed,
  matching,
  object,
  oneOf,
  only,
  type Reader,
  text,
  time,
} from "./read.ts";
import { parseTime } from "./times.ts";

export const artifactTypes = [
  "plan.review",
  "task.review",
  "patch.review",
  "command.review",
  "checkpoint.review",
] as const;
export type ArtifactType = (typeof artifactTypes)[number];

export interface Artifact {
  requestId: string;
  sessionId?: string;
  artifactType: ArtifactType;
  /** Opaque, agreed between those who take part. */
  repoRef: string;
  baseRevision?: string;
  createdAt: string;
  expiresAt: string;
  payload: Record<string, unknown>;
  artifactHashAlg: "SHA-256";
  /** Bare hex. */
  artifactHash: string;
  metadata?: Record<string, unknown>;
  extensions?: Record<string, unknown>;
}

export const scopes = ["once", "timebox", "session"] as const;
export type Scope = (typeof scopes)[number];

/** What an enforcer offers beyond one use until the artifact expires. An approver may always sign for less. */
export interface DecisionTerms {
  scope: Scope;
  expiresAt: string;
  sessionId?: string;
}

/** The member of `extensions` that is ours. */
const ourExtension = "gwProfile";
const saltBytes = 16;

const readFields: Reader<Artifact> = closed(
  {
    requestId: id,
    artifactType: oneOf(artifactTypes, "HARP_ERR_UNSUPPORTED"),
    repoRef: text,
    createdAt: time,
    expiresAt: time,
    payload: object,
    artifactHashAlg: only("SHA-256"),
    artifactHash: matching(bareHashForm, "64 lowercase hex digits"),
  },
  { sessionId: id, baseRevision: text, metadata: object, extensions: object },
);

const readTerms: Reader<DecisionTerms> = closed({ scope: oneOf(scopes), expiresAt: time }, { sessionId: id });

/** Its shape only; whether its hash is right is asked of `hashOfArtifact`. */
export function readArtifact(value: unknown): Artifact {
  const artifact = readFields(value, "artifact");
  if (!isBefore(artifact.createdAt, artifact.expiresAt)) {
    throw malformed("artifact.expiresAt is not after artifact.createdAt");
  }
  return artifact;
}

/** Always computed, whatever hash the artifact says it has. */
export async function hashOfArtifact(artifact: Omit<Artifact, "artifactHash"> | Artifact): Promise<string> {
  const signable: Partial<Artifact> = { ...artifact };
  delete signable.artifactHash;
  return await sha256Hex(canonicalBytes(signable));
}

/** Throws unless the artifact has the hash that it says. */
export async function assertHash(artifact: Artifact): Promise<void> {
  if ((await hashOfArtifact(artifact)) === artifact.artifactHash) return;
  throw new HarpError("HARP_ERR_HASH_MISMATCH", "The artifact is not the one that its hash was made of.");
}

type Draft = Omit<Artifact, "artifactHash" | "artifactHashAlg">;

export async function finishArtifact(draft: Draft): Promise<Artifact> {
  const salted = saltedArtifact(draft);
  return readArtifact({ ...salted, artifactHash: await hashOfArtifact(salted) });
}

/** What is hashed. A gateway sees the hash; the salt keeps it from confirming a guess of what was hashed. */
export function saltedArtifact(draft: Draft): Omit<Artifact, "artifactHash"> {
  const ours = object(draft.extensions?.[ourExtension] ?? {}, `extensions.${ourExtension}`);
  const salt = encodeBase64url(crypto.getRandomValues(new Uint8Array(saltBytes)));
  return {
    ...draft,
    artifactHashAlg: "SHA-256",
    extensions: { ...draft.extensions, [ourExtension]: { salt, ...ours } },
  };
}

/** Null where the artifact offers nothing beyond the default. */
export function termsOf(
  artifact: Pick<Artifact, "extensions" | "expiresAt" | "sessionId">,
): DecisionTerms | null {
  const ours = artifact.extensions?.[ourExtension];
  if (!isObject(ours) || !Object.hasOwn(ours, "decisionTerms")) return null;
  const terms = readTerms(ours.decisionTerms, "decisionTerms");
  if (isBefore(artifact.expiresAt, terms.expiresAt)) {
    throw new HarpError("HARP_ERR_SCOPE", "The offered terms outlive the artifact.");
  }
  if (terms.scope === "session" ? terms.sessionId === undefined : terms.sessionId !== undefined) {
    throw new HarpError("HARP_ERR_SCOPE", "Offered terms name a session if, and only if, they are for one.");
  }
  if (terms.sessionId !== undefined && terms.sessionId !== artifact.sessionId) {
    throw new HarpError("HARP_ERR_SCOPE", "The offered terms are for another session than the artifact.");
  }
  return terms;
}

function isBefore(earlier: string, later: string): boolean {
  const [from, to] = [parseTime(earlier), parseTime(later)];
  return from !== null && to !== null && from < to;
}
