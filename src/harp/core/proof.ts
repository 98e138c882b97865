/**
 * The proof that people approved: signed decisions, and the keys to verify them with. Whoever holds it needs nothing
 * else to check the signatures; that a key belongs to the approver it is said to is for who knows the keys.
 */

import { decodeBase64url } from "./base64url.ts";
import { type Decision, readDecision, verifySignature } from "./decision.ts";
import { HarpError } from "./harp-error.ts";
import { signerKeyIdOf } from "./keys.ts";
import { base64url, closed, id, integer, list, only, type Reader } from "./read.ts";

export interface SignedApproval {
  decision: Decision;
  /** Raw Ed25519 as base64url. */
  publicKey: string;
  approverId: string;
}

/** Each approver was asked with an artifact of their own, so request ids and hashes differ from one to the next. */
export interface ApprovalProof {
  profile: "harp-0.2";
  quorum: number;
  decisions: SignedApproval[];
}

export interface ProofVerdict {
  valid: boolean;
  why: string | null;
  approvers: string[];
}

/** More people than anybody asks for one approval. */
export const quorumMax = 64;

export const readApprovalProof: Reader<ApprovalProof> = closed({
  profile: only("harp-0.2"),
  quorum: integer(1, quorumMax),
  decisions: list(closed({ decision: readDecision, publicKey: base64url(32), approverId: id }), 1, quorumMax),
});

/** Never throws, whatever it is handed. */
export async function verifyApprovalProof(value: unknown): Promise<ProofVerdict> {
  try {
    const proof = readApprovalProof(value, "proof");
    for (const approval of proof.decisions) {
      const why = await whyNotValid(approval);
      if (why !== null) return refused(`The decision of ${approval.approverId} ${why}.`);
    }
    return countApprovers(proof);
  } catch (error) {
    return refused(error instanceof HarpError ? error.message : "The proof cannot be read.");
  }
}

async function whyNotValid({ decision, publicKey }: SignedApproval): Promise<string | null> {
  const key = decodeBase64url(publicKey, 32);
  if (decision.decision !== "allow") return "is not an approval";
  if ((await signerKeyIdOf(key)) !== decision.signerKeyId) return "names another key than the one given";
  return (await verifySignature(decision, key)) ? null : "is not signed by its key";
}

/** Who approved is not signed, the keys are: people count once, and so does a key, under whatever names. */
function countApprovers({ quorum, decisions }: ApprovalProof): ProofVerdict {
  const approverOfKey = new Map<string, string>();
  for (const { approverId, decision } of decisions) {
    const other = approverOfKey.get(decision.signerKeyId);
    if (other !== undefined && other !== approverId)
      return refused("One key is given as that of two approvers.");
    approverOfKey.set(decision.signerKeyId, approverId);
  }
  const approvers = [...new Set(approverOfKey.values())];
  if (approvers.length >= quorum) return { valid: true, why: null, approvers };
  return refused(`${quorum} approvers were required, ${approvers.length} approved.`);
}

function refused(why: string): ProofVerdict {
  return { valid: false, why, approvers: [] };
}
