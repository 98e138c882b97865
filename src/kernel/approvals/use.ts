/**
 * The last question before something is done that needed an approval: is it what was approved, does the approval still
 * hold, and was it never used? The answer is on disk before anything happens, so that an approval is used once at most.
 */

import { timingSafeEqual } from "node:crypto";
import type { ApproverKey } from "../../harp/core/approver-key.ts";
import { HarpError } from "../../harp/core/harp-error.ts";
import { isExpired } from "../../harp/core/times.ts";
import type { Unit } from "../core/unit.ts";
import { type Exchange, exchangesOf } from "../kinds/exchange.ts";
import type { PermissionRequestRecord } from "../kinds/permission-request.ts";
import { quorumOf } from "../kinds/persona.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { artifactFor } from "./artifact.ts";
import { audit } from "./audit.ts";
import { type ApprovalTerms, findRegistry, isEligible, termsFor } from "./registry.ts";

export interface Refusal {
  code: string;
  message: string;
}

/** Uses the approval up. Null when what it is for may be done now. */
export function useApproval(
  unit: Unit,
  task: TaskRecord,
  permissionRequestId: string,
  binding: string,
): Refusal | null {
  const request = unit.require("permission_request", permissionRequestId);
  if (request.use !== undefined) return request.use.refusal ?? usedUp(request);
  const refusal = reasonAgainst(unit, task, request, binding);
  unit.emit(request, "vendor.bridle.approval.used", { use: { used_at: unit.at, refusal } });
  if (refusal !== null || request.response?.proof !== undefined) {
    audit(unit, refusal === null ? "execution.allowed" : "execution.refused", {
      permissionRequestId,
      taskId: task.id,
      code: refusal?.code ?? null,
    });
  }
  return refusal;
}

export function usedUp({ action }: Pick<PermissionRequestRecord, "action">): Refusal {
  return {
    code: "approval_used",
    message: `The approval of ${JSON.stringify(action)} was used before; whether what it was for was done is not known.`,
  };
}

function reasonAgainst(
  unit: Unit,
  task: TaskRecord,
  request: PermissionRequestRecord,
  binding: string,
): Refusal | null {
  const what = JSON.stringify(request.action);
  if (request.status !== "approved") {
    return { code: "approval_denied", message: `${what} was not approved.` };
  }
  if (!isSame(request.binding ?? "", binding)) {
    return {
      code: "approval_mismatch",
      message: `What is about to be done is not what was approved as ${what}.`,
    };
  }
  if (request.response?.proof === undefined) return null;
  try {
    const { clock, approvals } = unit.deps;
    return reasonAgainstSignatures(request, {
      keys: findRegistry(unit)?.keys ?? [],
      policy: termsFor(task),
      nowMs: clock.now(),
      skewMs: approvals.skewMs,
    });
  } catch (error) {
    if (!(error instanceof HarpError)) throw error;
    return { code: "approval_unverifiable", message: error.message };
  }
}

interface SignedBy {
  keys: readonly ApproverKey[];
  policy: ApprovalTerms | undefined;
  nowMs: number;
  skewMs: number;
}

/** What was signed must still be good: keys are taken back, and time passes. */
export function reasonAgainstSignatures(
  request: PermissionRequestRecord,
  { keys, policy, nowMs, skewMs }: SignedBy,
): Refusal | null {
  const what = JSON.stringify(request.action);
  const standing = new Set<string>();
  for (const exchange of exchangesOf(request).filter(isAllowed)) {
    const { decision, approver_id, expires_at } = exchange;
    const key = keys.find(({ signerKeyId }) => signerKeyId === decision?.signerKeyId);
    if (decision === null || key === undefined || !isEligible(key, policy, nowMs)) continue;
    if ([decision.expiresAt, expires_at].some((end) => isExpired(end, nowMs, skewMs))) {
      return { code: "approval_expired", message: `The approval of ${what} ended at ${decision.expiresAt}.` };
    }
    const { artifactHash } = artifactFor(request, exchange);
    if (artifactHash !== decision.artifactHash) {
      return {
        code: "approval_mismatch",
        message: `What the server holds is not what was approved as ${what}.`,
      };
    }
    standing.add(approver_id);
  }
  if (standing.size >= quorumOf(policy)) return null;
  return {
    code: "approval_revoked",
    message: `The approval of ${what} was given with a key that no longer counts.`,
  };
}

function isAllowed({ state, decision }: Exchange): boolean {
  return state === "APPROVED" || (state === "EXECUTED" && decision?.decision === "allow");
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
