/** A change that waits for the consent of approvers: asked for, agreed to, refused, withdrawn, or due. */

import { type ApproverKey, maySign } from "../../harp/core/approver-key.ts";
import type { ApprovalProof } from "../../harp/core/proof.ts";
import { timestamp } from "../core/clock.ts";
import type { Unit } from "../core/unit.ts";
import { exchangesOf } from "../kinds/exchange.ts";
import { quorumOf } from "../kinds/persona.ts";
import type { ChangeOutcome, PolicyChange, PolicyChangeRecord } from "../kinds/policy-change.ts";
import { callerAsSubmitter } from "../kinds/submitter.ts";
import { applyPersonaChanges } from "../personas/personas.ts";
import { audit } from "./audit.ts";
import type { Consent } from "./consent.ts";
import { changeKeys, findRegistry, isEligible } from "./registry.ts";
import { policyChangePrefix } from "./subjects.ts";

/** How long approvers have to sign; then it is asked for again, or not. */
const signMs = 7 * 24 * 60 * 60 * 1000;

export function requestChange(
  unit: Unit,
  change: PolicyChange,
  { policies, asksEverybody, waitMs }: Consent,
  { action, details }: { action: string; details: object },
): PolicyChangeRecord {
  const nowMs = unit.deps.clock.now();
  const record: PolicyChangeRecord = {
    ...unit.envelope("policy_change", policyChangePrefix),
    metadata: {},
    status: "pending",
    change,
    action,
    // As text, and as the approvers see it.
    details: JSON.stringify(details, null, 2),
    requested_by: unit.caller.actor,
    requester: callerAsSubmitter(unit.caller),
    policies,
    asks_everybody: asksEverybody,
    effective_at: waitMs === null ? null : timestamp(nowMs + waitMs),
    expires_at: timestamp(nowMs + (waitMs ?? signMs)),
    outcome: null,
  };
  const requested = unit.emit(record, "vendor.bridle.policy_change.requested", { policy_change: record });
  audit(unit, "change.requested", { changeId: record.id, kind: change.kind });
  return requested;
}

/** Who has agreed so far, with keys that still count; null while that is not enough. */
function consentOf(
  record: PolicyChangeRecord,
  keys: readonly ApproverKey[],
  nowMs: number,
): ApprovalProof | null {
  const decisions = exchangesOf(record).flatMap(({ decision, approver_id: approverId }) => {
    const key = keys.find(({ signerKeyId }) => signerKeyId === decision?.signerKeyId);
    if (decision?.decision !== "allow" || key === undefined || !maySign(key, nowMs)) return [];
    return [{ decision, publicKey: key.ed25519, approverId, key }];
  });
  const isEnough = record.policies.every((policy) => {
    const agreed = decisions.filter(({ key }) => isEligible(key, policy, nowMs));
    return new Set(agreed.map(({ approverId }) => approverId)).size >= quorumOf(policy);
  });
  if (!isEnough) return null;
  const quorum = Math.max(...record.policies.map(quorumOf));
  return { profile: "harp-0.2", quorum, decisions: decisions.map(({ key: _, ...signed }) => signed) };
}

/** After a decision of an approver was recorded. */
export function judgeChange(unit: Unit, record: PolicyChangeRecord, refusedBy: string | null): void {
  if (refusedBy !== null) {
    settleChange(unit, record, { decision: "denied", reason: null, decided_by: refusedBy });
    return;
  }
  const keys = findRegistry(unit)?.keys ?? [];
  const proof = consentOf(record, keys, unit.deps.clock.now());
  if (proof === null) return;
  const decided_by = proof.decisions.map(({ approverId }) => approverId).join(", ");
  settleChange(unit, record, { decision: "approved", reason: null, decided_by, proof });
}

/** Its time has come: it takes effect because nobody refused it, or is over because too few agreed. */
export function settleDueChange(unit: Unit, record: PolicyChangeRecord): PolicyChangeRecord {
  if (Date.parse(record.expires_at) > unit.deps.clock.now()) return record;
  const isUnopposed = record.effective_at !== null;
  return settleChange(unit, record, {
    decision: isUnopposed ? "unopposed" : "timeout",
    reason: isUnopposed ? "Nobody refused it in time." : "Not enough approvers agreed in time.",
    decided_by: "system",
  });
}

export function settleChange(
  unit: Unit,
  record: PolicyChangeRecord,
  outcome: ChangeOutcome,
): PolicyChangeRecord {
  const settled = unit.emit(record, "vendor.bridle.policy_change.settled", { outcome });
  audit(unit, "change.settled", { changeId: record.id, decision: outcome.decision });
  const { change } = settled;
  if (change.kind === "persona") settlePersona(unit, settled, change.persona_id, change.changes);
  else settleKey(unit, settled, change);
  return settled;
}

function settlePersona(
  unit: Unit,
  { id, status, requested_by, requester = { actor: requested_by } }: PolicyChangeRecord,
  personaId: string,
  changes: Parameters<typeof applyPersonaChanges>[2],
): void {
  const persona = unit.require("persona", personaId);
  if (persona.pending_change?.id !== id) return;
  const free = unit.emit(persona, "vendor.bridle.persona.change_settled", { change_id: id });
  if (status === "approved") applyPersonaChanges(unit, free, changes, requester);
}

/** A key that was refused is forgotten; the audit log knows of it. */
function settleKey(
  unit: Unit,
  { status }: PolicyChangeRecord,
  change: Extract<PolicyChange, { kind: "approver_key" }>,
): void {
  const { signer_key_id: signerKeyId, replaces, overlap_ms } = change;
  const until = timestamp(unit.deps.clock.now() + overlap_ms);
  const isApproved = status === "approved";
  changeKeys(unit, (keys) =>
    keys.flatMap((key): ApproverKey[] => {
      if (key.signerKeyId === signerKeyId && key.state === "pending") {
        return isApproved ? [activated(key, unit.at)] : [];
      }
      const isReplaced = isApproved && key.signerKeyId === replaces && key.state === "active";
      return [isReplaced ? deprecated(key, unit.at, until) : key];
    }),
  );
  audit(unit, isApproved ? "key.provisioned" : "key.refused", { signerKeyId });
}

function activated({ pendingUntil: _, changeId: __, ...key }: ApproverKey, at: string): ApproverKey {
  return { ...key, state: "active", notBefore: at };
}

export function deprecated(key: ApproverKey, at: string, acceptedUntil: string): ApproverKey {
  return { ...key, state: "deprecated", deprecatedAt: at, acceptedUntil };
}
