/**
 * Which changes need the consent of approvers, and whose. An administrator decides who approves until the first approver is
 * there; from then on the approvers decide with them:
 *
 *   C1  A persona that wants signatures keeps its approval policy and its autonomy until as many approvers as it asks for,
 *       or as many as there have ever been, sign the change.
 *   C2  The same holds for a new approver whom such a persona would ask.
 *   C3  A further key for somebody who has been an approver needs their own signature, or a waiting period in which all
 *       approvers know of it and each of them can refuse.
 *   C4  Where too few keys are left to sign, the waiting period takes the place of the signatures.
 */

import { isDeepStrictEqual } from "node:util";
import { type ApproverKey, maySign } from "../../harp/core/approver-key.ts";
import type { TenantStore } from "../../store/port.ts";
import { paginate } from "../core/paginate.ts";
import type { Unit } from "../core/unit.ts";
import {
  type ApprovalPolicy,
  autonomyTiers,
  demandsHarp,
  type PersonaChanges,
  type PersonaRecord,
  quorumOf,
} from "../kinds/persona.ts";

export interface Consent {
  policies: ApprovalPolicy[];
  asksEverybody: boolean;
  /** After how long it takes effect without enough signatures; null: never. */
  waitMs: number | null;
}

/** Null when nobody has to agree. */
export function consentToPersona(
  { deps: { approvals, clock } }: Unit,
  keys: readonly ApproverKey[],
  persona: PersonaRecord,
  changes: PersonaChanges,
): Consent | null {
  const { approval_policy: policy } = persona;
  if (policy === undefined || !demandsHarp(policy) || !touchesApprovals(persona, changes)) return null;
  return consentUnder([policy], keys, { waitMs: approvals.keyWaitMs, nowMs: clock.now() });
}

export function consentToKey(unit: Unit, keys: readonly ApproverKey[], approverId: string): Consent | null {
  const { approvals, clock } = unit.deps;
  const waitMs = approvals.keyWaitMs;
  if (everApproved(keys, { approvers: [approverId] }).size > 0) {
    const policies = [{ quorum: 1, approvers: [approverId] }];
    return waitMs === 0 ? null : { policies, asksEverybody: true, waitMs };
  }
  const { own } = unit;
  const policies = unit.awaited(`policies ${approverId}`, () => policiesThatAsk(own, approverId));
  return consentUnder(policies, keys, { waitMs, nowMs: clock.now() });
}

/** Any change of the policy: which one is weaker depends on who the approvers are, and only they know. */
function touchesApprovals(persona: PersonaRecord, changes: PersonaChanges): boolean {
  const { approval_policy, autonomy_tier, rollout_policy } = changes;
  // Sessions would go back to a version whose policy nobody may want any more.
  if (rollout_policy !== undefined && !isDeepStrictEqual(rollout_policy, persona.rollout_policy)) return true;
  // Work for its agent would go to another persona.
  if (changes.disabled === true && persona.disabled !== true) return true;
  if ("approval_policy" in changes && !isDeepStrictEqual(approval_policy, persona.approval_policy))
    return true;
  return (
    autonomy_tier !== undefined &&
    autonomyTiers.indexOf(autonomy_tier) > autonomyTiers.indexOf(persona.autonomy_tier)
  );
}

function consentUnder(
  policies: readonly ApprovalPolicy[],
  keys: readonly ApproverKey[],
  { waitMs, nowMs }: { waitMs: number; nowMs: number },
): Consent | null {
  const needed = policies.flatMap((policy): ApprovalPolicy[] => {
    const quorum = Math.min(quorumOf(policy), everApproved(keys, policy).size);
    return quorum === 0 ? [] : [{ ...policy, quorum }];
  });
  if (needed.length === 0) return null;
  const isReachable = needed.every(
    (policy) =>
      everApproved(
        keys.filter((key) => maySign(key, nowMs)),
        policy,
      ).size >= quorumOf(policy),
  );
  if (isReachable) return { policies: needed, asksEverybody: false, waitMs: null };
  return waitMs === 0 ? null : { policies: needed, asksEverybody: false, waitMs };
}

/** Whoever a policy counts and has had a key that counted, now or before. */
function everApproved(keys: readonly ApproverKey[], { approvers }: ApprovalPolicy): Set<string> {
  const counted = keys.filter(
    ({ state, approverId }) => state !== "pending" && (approvers?.includes(approverId) ?? true),
  );
  return new Set(counted.map(({ approverId }) => approverId));
}

/** Of all personas that want signatures and would ask this approver. */
async function policiesThatAsk(own: TenantStore, approverId: string): Promise<ApprovalPolicy[]> {
  const found: ApprovalPolicy[] = [];
  for await (const page of paginate(own, { kind: "persona" })) {
    for (const { approval_policy: policy } of page.map(({ body }) => body as PersonaRecord)) {
      if (policy === undefined || !demandsHarp(policy)) continue;
      const isNew = !found.some((known) => isDeepStrictEqual(known, policy));
      if (isNew && (policy.approvers?.includes(approverId) ?? true)) found.push(policy);
    }
  }
  return found;
}
