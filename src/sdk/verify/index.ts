/** `bridle/verify`: what Bridle proves, verified anywhere, with nothing but WebCrypto. */

export { type ApprovalProof, type ProofVerdict, verifyApprovalProof } from "../../harp/core/proof.ts";
export { type Checkpoint, parseCheckpoint, parseNote, type SignedNote } from "../../receipts/checkpoint.ts";
export type { Check, Verification, VerifyOptions } from "../../receipts/checks.ts";
export type { Consistency } from "../../receipts/consistency.ts";
export type { Inclusion } from "../../receipts/inclusion.ts";
export { type Jwks, type PublicJwk, publicKeysIn } from "../../receipts/public-keys.ts";
export type { Receipt } from "../../receipts/schema.ts";
export { parseStrictJson } from "../../receipts/strict-json.ts";
export { verifyAgentCard } from "./agent-card.ts";
export { type ChainFailure, type ChainReport, verifyChain } from "./chain.ts";
export {
  type CheckpointVerdict,
  type NoteKey,
  verifyCheckpoint,
  verifyConsistency,
} from "./checkpoint.ts";
export { verifyInclusion } from "./merkle.ts";
export { isReceipt, verifyReceipt } from "./receipt.ts";
