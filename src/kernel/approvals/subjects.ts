/** What approvers are asked about: a step of a task, or a change that needs their consent. Who is asked follows from it. */

import type { ApproverKey } from "../../harp/core/approver-key.ts";
import type { Unit } from "../core/unit.ts";
import type { PermissionRequestRecord } from "../kinds/permission-request.ts";
import type { PolicyChangeRecord } from "../kinds/policy-change.ts";
import { type ApprovalTerms, isEligible, termsFor } from "./registry.ts";

export type ApprovalSubject = PermissionRequestRecord | PolicyChangeRecord;
export type SubjectKind = ApprovalSubject["object"];

export const policyChangePrefix = "change";

/** By its id, since a gateway knows nothing else of it. */
export function subjectKindOf(id: string): SubjectKind {
  return id.startsWith(`${policyChangePrefix}_`) ? "policy_change" : "permission_request";
}

export function findSubject(unit: Unit, id: string): ApprovalSubject | undefined {
  return unit.find(subjectKindOf(id), id);
}

/** The policies under which somebody is asked; no policy names no approvers, and means all of them. */
export type AskedPolicies = readonly (ApprovalTerms | undefined)[];

/** Null when it is about a task that is gone or no longer waits for it. */
export function askedPolicies(unit: Unit, subject: ApprovalSubject): AskedPolicies | null {
  if (subject.object === "policy_change") return policiesOfChange(subject);
  const task = unit.find("task", subject.task_id);
  return task?.pending?.permission_request_id === subject.id ? [termsFor(task)] : null;
}

export function policiesOfChange({ asks_everybody, policies }: PolicyChangeRecord): AskedPolicies {
  return asks_everybody ? [undefined] : policies;
}

export function isAsked(key: ApproverKey, policies: AskedPolicies, nowMs: number): boolean {
  return policies.some((policy) => isEligible(key, policy, nowMs));
}

/** The keys of those who are asked, by approver. */
export function askedApprovers(
  keys: readonly ApproverKey[],
  policies: AskedPolicies,
  nowMs: number,
): Map<string, ApproverKey[]> {
  return Map.groupBy(
    keys.filter((key) => isAsked(key, policies, nowMs)),
    ({ approverId }) => approverId,
  );
}
