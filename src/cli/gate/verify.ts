/**
 * Whether people signed exactly this: checked by the gate itself before it runs anything, and by everybody who has the proof.
 * Neither the server's nor a gateway's word is enough.
 */

import { createHash } from "node:crypto";
import type { Artifact } from "../../harp/core/artifact.ts";
import { hashOfArtifact, readArtifact } from "../../harp/core/artifact.ts";
import { HarpError } from "../../harp/core/harp-error.ts";
import { type ApprovalProof, readApprovalProof, verifyApprovalProof } from "../../harp/core/proof.ts";
import { isExpired, skewMsDefault } from "../../harp/core/times.ts";
import { placeholders } from "../../policy/redact/kinds.ts";
import { isRecord } from "../../sdk/client/errors.ts";
import { canonicalJson } from "../../web/canonical-json.ts";
import { Denied } from "./denial.ts";

/** As the server tells it. */
export interface PermissionProof {
  permission_request_id: string;
  task_id: string;
  session_id: string;
  status: "pending" | "approved" | "denied";
  proof: ApprovalProof | null;
  artifacts: unknown[];
  reason: string | null;
  used_at: string | null;
  is_valid: boolean;
  problem: string | null;
}

/** What was asked for, as the gate holds it. */
export interface Asked {
  /** In a few words: what approvers read first. */
  action: string;
  /** Undefined where the gate does not hold it. */
  risk?: string;
  request: object;
  digest: string;
}

export function digestOf(request: object): string {
  return createHash("sha256").update(canonicalJson(request)).digest("hex");
}

/** Throws `Denied` unless it is approved, by signatures that hold now, over artifacts that show exactly what was asked. */
export async function verifySigned(
  found: PermissionProof,
  asked: Asked,
  nowMs: number,
): Promise<ApprovalProof> {
  if (found.status !== "approved" || found.proof === null) {
    throw new Denied("No signature of an approver says that it may be done, so it is not done.");
  }
  if (!found.is_valid)
    throw new Denied(`The approval does not count: ${found.problem ?? "no reason was given"}`);
  const why = await whyNotSigned(found.proof, found.artifacts, asked);
  if (why !== null) throw new Denied(`The signature does not hold, so nothing is done: ${why}`);
  const isOver = found.proof.decisions.some(({ decision }) =>
    isExpired(decision.expiresAt, nowMs, skewMsDefault),
  );
  if (isOver) throw new Denied("The approval has expired.");
  return found.proof;
}

/** Null when every decision is a valid signature over the hash of one of the artifacts, which show exactly what was asked. */
export async function whyNotSigned(
  proof: unknown,
  artifacts: readonly unknown[],
  asked: Asked,
): Promise<string | null> {
  const verdict = await verifyApprovalProof(proof);
  if (!verdict.valid) return verdict.why ?? "it is not valid";
  try {
    const read = artifacts.map(readArtifact);
    for (const { decision } of readApprovalProof(proof, "proof").decisions) {
      const artifact = read.find(({ requestId }) => requestId === decision.requestId);
      if (artifact === undefined) return "what was signed is not there";
      if ((await hashOfArtifact(artifact)) !== decision.artifactHash) return "another text was signed";
      const { digest, ...shown } = detailsIn(artifact);
      if (digest !== asked.digest || !isShownAs(shown, asked.request)) return "something else was signed";
      const { action, risk } = artifact.payload;
      if (!isShownAs(action, asked.action.toWellFormed())) return "it was called something else";
      if (asked.risk !== undefined && risk !== asked.risk) return "another risk was shown";
    }
    return null;
  } catch (error) {
    if (error instanceof HarpError || error instanceof SyntaxError) return error.message;
    throw error;
  }
}

/** The request as it was shown. */
export function detailsIn({ payload }: Pick<Artifact, "payload">): Record<string, unknown> {
  const { details } = payload;
  const parsed: unknown = typeof details === "string" ? JSON.parse(details) : null;
  return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? { ...parsed } : {};
}

/** The same, but for what the server took out of it as a credential; the digest is over that as well. */
function isShownAs(shown: unknown, real: unknown): boolean {
  if (typeof shown === "string" && typeof real === "string") return isTextShownAs(shown, real);
  if (Array.isArray(shown) && Array.isArray(real)) {
    return shown.length === real.length && shown.every((item, index) => isShownAs(item, real[index]));
  }
  if (isRecord(shown) && isRecord(real)) {
    const names = Object.keys(shown);
    return (
      names.length === Object.keys(real).length && names.every((name) => isShownAs(shown[name], real[name]))
    );
  }
  return shown === real;
}

/** What is left of a text stands where it stood, with a placeholder for each thing that was taken out, and nothing else. */
function isTextShownAs(shown: string, real: string): boolean {
  if (shown === real) return true;
  const [first = "", ...others] = shown.split(placeholders);
  const last = others.pop();
  if (last === undefined || !real.startsWith(first) || !real.endsWith(last)) return false;
  const end = real.length - last.length;
  let at = first.length;
  for (const piece of others) {
    // Something was there before it.
    const found = real.indexOf(piece, at + 1);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return at < end;
}
