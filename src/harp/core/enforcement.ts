/**
 * The enforcer's judgement. Nothing runs without a decision that passed every check here, in this order; whatever goes
 * wrong on the way, the answer is no.
 */

import { type ApproverKey, whyMayNotSign } from "./approver-key.ts";
import { type Artifact, assertHash } from "./artifact.ts";
import { decodeBase64url } from "./base64url.ts";
import {
  type Decision,
  decisionHashOf,
  readDecisionBody,
  rebuildDecisions,
  verifySignature,
} from "./decision.ts";
import { HarpError } from "./harp-error.ts";
import { isExpired, isFromTheFuture, skewMsDefault } from "./times.ts";
import type { DecisionBody } from "./wire.ts";

export type EnforcerState = "CREATED" | "AWAITING_DECISION" | "APPROVED" | "DENIED" | "EXPIRED" | "EXECUTED";

/** Of one request. An action is run on the way from APPROVED to EXECUTED, and nowhere else. */
export const enforcerMoves = {
  CREATED: ["AWAITING_DECISION"],
  AWAITING_DECISION: ["APPROVED", "DENIED", "EXPIRED"],
  APPROVED: ["EXECUTED", "EXPIRED"],
  DENIED: [],
  EXPIRED: [],
  EXECUTED: [],
} as const satisfies Record<EnforcerState, readonly EnforcerState[]>;

export function mayMoveTo(from: EnforcerState, to: EnforcerState): boolean {
  const moves: readonly EnforcerState[] = enforcerMoves[from];
  return moves.includes(to);
}

export interface ReceivedDecision {
  requestId: string;
  /** As it came. */
  body: unknown;
}

export interface DecisionContext {
  /** The one that was asked about, as the enforcer keeps it. */
  artifact: Artifact;
  /** Bare hex, computed now from the action that is about to run. */
  hashNow: string;
  state: EnforcerState;
  nowMs: number;
  skewMs?: number;
  keyOf(signerKeyId: string): ApproverKey | undefined;
  isUsed(nonce: string, signerKeyId: string): boolean | Promise<boolean>;
  mayApprove(key: ApproverKey): boolean;
  liveSessionId: string | null;
  /** The last word: why this is refused although it is valid, or null. */
  refuses?(decision: Decision): string | null;
}

/**
 * Returns the decision as it was signed, allow or deny, or throws why it counts for nothing. Keeping it from being used
 * twice is for the caller, who writes it down and moves the state in one step.
 */
export async function checkDecision(received: ReceivedDecision, against: DecisionContext): Promise<Decision> {
  try {
    return await checked(received, against);
  } catch (error) {
    if (error instanceof HarpError) throw error;
    throw new HarpError(
      "HARP_ERR_POLICY_DENY",
      "The decision could not be checked, so it does not count.",
      { reason: "check_failed" },
      { cause: error },
    );
  }
}

async function checked(received: ReceivedDecision, against: DecisionContext): Promise<Decision> {
  const { artifact, nowMs, skewMs = skewMsDefault } = against;
  const body = readDecisionBody(received.body);
  if (received.requestId !== artifact.requestId) {
    throw new HarpError("HARP_ERR_HASH_MISMATCH", "The decision is for another request.");
  }
  const candidates = rebuildDecisions(artifact, body);
  const key = keyFor(body, against);
  const decision = await signedOne(candidates, body, key);
  assertInTime(decision, artifact, nowMs, skewMs);
  await assertSameAction(decision, against);
  await assertUnused(decision, against);
  assertScope(decision, artifact, against.liveSessionId);
  const refusal = against.refuses?.(decision) ?? null;
  if (refusal !== null) throw new HarpError("HARP_ERR_POLICY_DENY", refusal);
  return decision;
}

/** Decisions come more than once; a memory shorter than any redelivery would be none. */
const replayKeptMsMin = 10 * 60_000;

/** For how long a decision is remembered, so that it is never accepted again. */
export function replayKeptUntil(
  decisionExpiresAtMs: number,
  recordedAtMs: number,
  skewMs: number = skewMsDefault,
): number {
  return Math.max(decisionExpiresAtMs + skewMs, recordedAtMs + replayKeptMsMin);
}

/** A session's approval is good in that session only, and it says so itself: the binding is signed. */
export function assertScope(decision: Decision, artifact: Artifact, liveSessionId: string | null): void {
  if (decision.scope !== "session") return;
  const sessionId = decision.policyHints?.sessionId;
  if (typeof sessionId !== "string") {
    throw new HarpError("HARP_ERR_SCOPE", "An approval for a session does not say which.");
  }
  if (sessionId !== artifact.sessionId || sessionId !== liveSessionId) {
    throw new HarpError("HARP_ERR_SCOPE", "The approval is for a session that is another one, or over.");
  }
}

function keyFor(body: DecisionBody, against: DecisionContext): ApproverKey {
  const key = against.keyOf(body.signerKeyId);
  if (key === undefined || key.signerKeyId !== body.signerKeyId) {
    throw new HarpError("HARP_ERR_SIGNATURE_INVALID", "No such key was provisioned.", {
      reason: "unknown_key",
    });
  }
  const reason = whyMayNotSign(key, against.nowMs);
  if (reason !== null) {
    throw new HarpError("HARP_ERR_SIGNATURE_INVALID", "The key may not sign decisions.", { reason });
  }
  if (key.alg !== "Ed25519") throw new HarpError("HARP_ERR_UNSUPPORTED", "The key is not an Ed25519 key.");
  // Nothing but a plain yes: a policy that answers later has not answered.
  if (against.mayApprove(key) !== true) {
    throw new HarpError("HARP_ERR_POLICY_DENY", "The approver has no role that may decide this.", {
      reason: "role",
    });
  }
  return key;
}

/** Of what can have been signed, the one that was. */
async function signedOne(candidates: Decision[], body: DecisionBody, key: ApproverKey): Promise<Decision> {
  const publicKey = decodeBase64url(key.ed25519, 32);
  for (const candidate of candidates) {
    if (!(await verifySignature(candidate, publicKey))) continue;
    if (body.decisionHash === undefined || body.decisionHash === (await decisionHashOf(candidate)))
      return candidate;
    throw new HarpError("HARP_ERR_HASH_MISMATCH", "The decisionHash is not that of the decision.");
  }
  throw new HarpError(
    "HARP_ERR_SIGNATURE_INVALID",
    "The signature is not one over this decision by that key.",
    {
      reason: "bad_signature",
    },
  );
}

/** Asked again right before anything runs: between a decision and its use, time passes. */
export function assertInTime(decision: Decision, artifact: Artifact, nowMs: number, skewMs: number): void {
  if (isExpired(decision.expiresAt, nowMs, skewMs)) {
    throw new HarpError("HARP_ERR_EXPIRED", "The decision has expired.", { reason: "decision_expired" });
  }
  if (isExpired(artifact.expiresAt, nowMs, skewMs)) {
    throw new HarpError("HARP_ERR_EXPIRED", "The artifact has expired.", { reason: "artifact_expired" });
  }
  if (isFromTheFuture(artifact.createdAt, nowMs, skewMs)) {
    throw new HarpError("HARP_ERR_EXPIRED", "The artifact was made in the future.", {
      reason: "future_dated",
    });
  }
}

async function assertSameAction(decision: Decision, { artifact, hashNow }: DecisionContext): Promise<void> {
  // Expiry and session are read from what is kept: it has to be what was signed, too.
  await assertHash(artifact);
  if (decision.artifactHash === hashNow) return;
  throw new HarpError("HARP_ERR_HASH_MISMATCH", "What is about to run is not what was decided about.");
}

/** One artifact is decided once; and a nonce is used once by a key, whatever it was used for. */
async function assertUnused({ nonce, signerKeyId }: Decision, against: DecisionContext): Promise<void> {
  if (against.state !== "AWAITING_DECISION") {
    throw new HarpError("HARP_ERR_REPLAY", "No decision is awaited for this request.", {
      state: against.state,
    });
  }
  // Anything but a plain no is a yes: a cache that cannot answer denies.
  if ((await against.isUsed(nonce, signerKeyId)) !== false) {
    throw new HarpError("HARP_ERR_REPLAY", "The nonce was used before.", { reason: "nonce" });
  }
}
