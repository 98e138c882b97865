/**
 * Take a decision that a gateway delivered. Nothing that the gateway says counts; the approver's signature over what this
 * server holds does. Whatever is wrong with it leaves a record, and nothing is executed.
 */

import type { ApproverKey } from "../../harp/core/approver-key.ts";
import { type Decision, readDecisionBody } from "../../harp/core/decision.ts";
import { checkDecision } from "../../harp/core/enforcement.ts";
import { HarpError } from "../../harp/core/harp-error.ts";
import type { ApprovalProof } from "../../harp/core/proof.ts";
import type { Command } from "../core/dispatch.ts";
import type { Unit } from "../core/unit.ts";
import { type ApprovalNonceRecord, approvalNonceId } from "../kinds/approval-nonce.ts";
import type { ApproverRegistryRecord } from "../kinds/approver-registry.ts";
import { type Exchange, exchangesOf, isLive } from "../kinds/exchange.ts";
import type { PermissionRequestRecord } from "../kinds/permission-request.ts";
import { quorumOf } from "../kinds/persona.ts";
import { artifactFor } from "./artifact.ts";
import { audit } from "./audit.ts";
import { close, refusedDecision, subjectIdOf } from "./exchanges.ts";
import { judgeChange } from "./policy-changes.ts";
import { findRegistry, isEligible, termsFor } from "./registry.ts";
import { decidePermission } from "./respond-permission-request.ts";
import {
  type ApprovalSubject,
  type AskedPolicies,
  findSubject,
  isAsked,
  policiesOfChange,
} from "./subjects.ts";

export interface ReceivedDecision {
  requestId: string;
  body: unknown;
  /** What the approver remarked. It is not signed. */
  reason: string | null;
}

export type DecisionVerdict =
  | { accepted: true; decision: "allow" | "deny" }
  | { accepted: false; code: string; message: string };

interface Asked {
  request: ApprovalSubject;
  exchange: Exchange;
  policies: AskedPolicies;
  registry: ApproverRegistryRecord;
}

export const receiveDecision: Command<ReceivedDecision, DecisionVerdict> = {
  name: "receive_decision",
  scope: "admin",
  decide(unit, received) {
    try {
      const asked = findAsked(unit, received.requestId);
      const decision = check(unit, asked, received);
      accept(unit, asked, decision, received.reason);
      return { accepted: true, decision: decision.decision };
    } catch (error) {
      if (!(error instanceof HarpError)) throw error;
      return refuse(unit, received, error);
    }
  },
};

function findAsked(unit: Unit, requestId: string): Asked {
  const request = findSubject(unit, subjectIdOf(requestId));
  const exchange = request && exchangesOf(request).find(({ request_id }) => request_id === requestId);
  const policies = request && policiesOf(unit, request);
  if (request === undefined || exchange === undefined || policies === undefined) {
    throw new HarpError("HARP_ERR_HASH_MISMATCH", "Nobody was asked under this name.", {
      reason: "unknown_request",
    });
  }
  const registry = findRegistry(unit);
  if (registry === null) {
    throw new HarpError("HARP_ERR_SIGNATURE_INVALID", "There are no approvers.", { reason: "unknown_key" });
  }
  return { request, exchange, policies, registry };
}

/** Also of a task that has gone on without the decision: it is refused as what it is, too late. */
function policiesOf(unit: Unit, request: ApprovalSubject): AskedPolicies | undefined {
  if (request.object === "policy_change") return policiesOfChange(request);
  const task = unit.find("task", request.task_id);
  return task && [termsFor(task)];
}

function check(
  unit: Unit,
  { request, exchange, policies, registry }: Asked,
  { requestId, body }: ReceivedDecision,
): Decision {
  const { clock, approvals } = unit.deps;
  const artifact = artifactFor(request, exchange);
  const session = request.object === "policy_change" ? undefined : unit.find("session", request.session_id);
  const { nonce, signerKeyId } = readDecisionBody(body);
  const isUsed = unit.findAsSystem("approval_nonce", approvalNonceId(signerKeyId, nonce)) !== undefined;
  return unit.awaited("decision", () =>
    checkDecision(
      { requestId, body },
      {
        artifact,
        hashNow: artifact.artifactHash,
        // The gateway may be quicker than the record that it has the request.
        state: exchange.state === "CREATED" ? "AWAITING_DECISION" : exchange.state,
        nowMs: clock.now(),
        skewMs: approvals.skewMs,
        keyOf: (signerKeyId) => keyOf(registry, signerKeyId),
        isUsed: () => isUsed,
        mayApprove: (key) => key.approverId === exchange.approver_id && isAsked(key, policies, clock.now()),
        liveSessionId: session === undefined || session.state === "CLOSED" ? null : session.id,
        refuses: () => (request.status === "pending" ? null : `The request is ${request.status}.`),
      },
    ),
  );
}

function accept(unit: Unit, asked: Asked, decision: Decision, reason: string | null): void {
  const { request, exchange } = asked;
  const nonce: ApprovalNonceRecord = {
    ...unit.envelope("approval_nonce", "nonce"),
    id: approvalNonceId(decision.signerKeyId, decision.nonce),
    metadata: {},
    ...placeOf(request),
    request_id: exchange.request_id,
  };
  const decided = unit.emit(request, "vendor.bridle.approval.decided", {
    request_id: exchange.request_id,
    decision,
    nonce,
  });
  audit(unit, "decision.accepted", {
    requestId: exchange.request_id,
    artifactHash: decision.artifactHash,
    decision: decision.decision,
    signerKeyId: decision.signerKeyId,
  });
  const isDenied = decision.decision === "deny";
  if (decided.object === "policy_change") {
    judgeChange(unit, decided, isDenied ? exchange.approver_id : null);
    return;
  }
  const proof = proofOf(unit, decided, asked);
  if (!isDenied && proof.decisions.length < proof.quorum) return;
  decidePermission(unit, {
    requestId: request.id,
    approved: !isDenied,
    reason,
    reviewer: isDenied
      ? exchange.approver_id
      : proof.decisions.map(({ approverId }) => approverId).join(", "),
    proof: isDenied ? { ...proof, decisions: [signedBy(asked, decision)] } : proof,
  });
}

function placeOf(
  request: ApprovalSubject,
): Pick<ApprovalNonceRecord, "workspace_id" | "session_id" | "task_id"> {
  if (request.object === "policy_change") return { workspace_id: null, session_id: null, task_id: null };
  const { workspace_id, session_id, task_id } = request;
  return { workspace_id, session_id, task_id };
}

/** Who has agreed so far, with keys that still count. */
function proofOf(unit: Unit, request: PermissionRequestRecord, asked: Asked): ApprovalProof {
  const [policy] = asked.policies;
  const decisions = exchangesOf(request).flatMap(({ decision }) => {
    if (decision?.decision !== "allow") return [];
    const key = keyOf(asked.registry, decision.signerKeyId);
    const isStanding = key !== undefined && isEligible(key, policy, unit.deps.clock.now());
    return isStanding ? [signedBy(asked, decision)] : [];
  });
  return { profile: "harp-0.2", quorum: quorumOf(policy), decisions };
}

function signedBy({ registry }: Asked, decision: Decision): ApprovalProof["decisions"][number] {
  const key = keyOf(registry, decision.signerKeyId);
  return { decision, publicKey: key?.ed25519 ?? "", approverId: key?.approverId ?? "" };
}

function keyOf({ keys }: ApproverRegistryRecord, signerKeyId: string): ApproverKey | undefined {
  return keys.find((key) => key.signerKeyId === signerKeyId);
}

/** A gateway takes one decision for a request. When that one does not count, the approver is asked anew. */
function refuse(unit: Unit, { requestId }: ReceivedDecision, error: HarpError): DecisionVerdict {
  const { code, message, details } = error;
  const reason = typeof details.reason === "string" ? details.reason : null;
  audit(unit, "decision.refused", { requestId, code, reason });
  const request = findSubject(unit, subjectIdOf(requestId));
  const exchange = request && exchangesOf(request).find(({ request_id }) => request_id === requestId);
  if (request !== undefined && exchange !== undefined && isLive(exchange)) {
    const over = close(unit, request, requestId, refusedDecision);
    unit.emit(over, "vendor.bridle.approval.settled", { request_id: requestId });
  }
  return { accepted: false, code, message };
}
