/** What an enforcer knows about the key of an approver, and when it accepts a decision from it. */

import { encodeBase64url } from "./base64url.ts";
import { type ApproverBundle, pairingFingerprint } from "./keys.ts";
import { isExpired, parseTime } from "./times.ts";

export type KeyState = "pending" | "active" | "deprecated" | "revoked";

/** From pairing, to a person's confirmation, to the overlap of a rotation, to its end. What is revoked stays so. */
const keyMoves = {
  pending: ["active", "revoked"],
  active: ["deprecated", "revoked"],
  deprecated: ["revoked"],
  revoked: [],
} as const satisfies Record<KeyState, readonly KeyState[]>;

export interface ApproverKey {
  signerKeyId: string;
  approverId: string;
  alg: "Ed25519";
  /** Raw public keys as base64url. */
  ed25519: string;
  x25519: string;
  deviceId: string;
  /** Of both keys: what the approver's screen shows as well. */
  fingerprint: string;
  state: KeyState;
  roles: string[];
  notBefore: string;
  createdAt: string;
  label?: string;
  revokedAt?: string;
  deprecatedAt?: string;
  /** The end of a rotation's overlap. */
  acceptedUntil?: string;
  /** While it is pending: when it counts if nobody refuses it (null: only by signatures), and what it waits for. */
  pendingUntil?: string | null;
  changeId?: string;
  /** Certificates or whatever else an organization keeps with a key; nothing here looks into it. */
  pki?: Record<string, unknown>;
}

/** Why a key may not sign, in the words of `details.reason`. */
export type KeyRefusal = "pending_key" | "revoked_key" | "deprecated_key" | "not_yet_valid_key";

/** Knowing a key is not trusting it: a person has to confirm the fingerprint first. */
export async function pendingKeyOf(
  bundle: ApproverBundle,
  owner: { approverId: string; roles: string[]; notBefore: string; label?: string },
): Promise<ApproverKey> {
  return {
    signerKeyId: bundle.signerKeyId,
    alg: "Ed25519",
    ed25519: encodeBase64url(bundle.ed25519),
    x25519: encodeBase64url(bundle.x25519),
    deviceId: bundle.deviceId,
    fingerprint: await pairingFingerprint(bundle.ed25519, bundle.x25519),
    state: "pending",
    createdAt: bundle.createdAt,
    ...owner,
  };
}

export function mayKeyMoveTo(from: KeyState, to: KeyState): boolean {
  const moves: readonly KeyState[] = keyMoves[from];
  return moves.includes(to);
}

/** Judged by the clock of now, whenever the decision was signed: a revocation also ends what was signed before it. */
export function maySign(key: ApproverKey, nowMs: number): boolean {
  return whyMayNotSign(key, nowMs) === null;
}

export function whyMayNotSign(key: ApproverKey, nowMs: number): KeyRefusal | null {
  if (key.state === "revoked" || key.revokedAt !== undefined) return "revoked_key";
  if (key.state !== "active" && key.state !== "deprecated") return "pending_key";
  const notBeforeMs = parseTime(key.notBefore);
  if (notBeforeMs === null || !(notBeforeMs <= nowMs)) return "not_yet_valid_key";
  // An overlap ends when it was said to end; only the clocks of others are given leeway.
  if (key.acceptedUntil !== undefined && isExpired(key.acceptedUntil, nowMs, 0)) return "deprecated_key";
  return null;
}
