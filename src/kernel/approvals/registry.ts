/** Whose signatures count in a tenant. A list that this server did not write counts as no list, and denies everything. */

import { timingSafeEqual } from "node:crypto";
import { type ApproverKey, maySign } from "../../harp/core/approver-key.ts";
import { HarpError } from "../../harp/core/harp-error.ts";
import type { Caller } from "../../policy/caller.ts";
import { canonicalJson } from "../../web/canonical-json.ts";
import { requireScope, requireWholeTenant } from "../access/authorize.ts";
import type { KernelDeps, Unit } from "../core/unit.ts";
import { type ApproverRegistryRecord, approverRegistryId } from "../kinds/approver-registry.ts";
import type { ApprovalPolicy } from "../kinds/persona.ts";
import { namesOf } from "../kinds/submitter.ts";
import { submitterOf, type TaskRecord } from "../kinds/task.ts";

/** More keys than this are not people. */
export const approverKeysMax = 1000;
export const approverRole = "approver";

/** Approvers are the whole tenant's: a key that is bound to some workspaces does not decide who they are. */
export function requireManager(caller: Caller): void {
  requireScope(caller, "approvers:write");
  requireWholeTenant(caller, "approvers");
}

/** Null when nobody was ever paired. Throws when the list is not the one that this server wrote. */
export function findRegistry(unit: Unit): ApproverRegistryRecord | null {
  const { tenantId } = unit.caller;
  const registry = unit.findAsSystem("approver_registry", approverRegistryId(tenantId));
  if (registry === undefined) return null;
  assertOurs(unit.deps, registry);
  return registry;
}

export function assertOurs(deps: KernelDeps, registry: ApproverRegistryRecord): void {
  const expected = Buffer.from(macOf(deps, registry.tenant_id, registry.keys), "hex");
  const found = Buffer.from(registry.mac, "hex");
  if (expected.length === found.length && timingSafeEqual(expected, found)) return;
  throw new HarpError(
    "HARP_ERR_SIGNATURE_INVALID",
    "The list of approvers is not the one that this server wrote; no decision counts until it is put right.",
    { reason: "key_store_corrupt" },
  );
}

/** Writes the list as it is from now on. */
export function changeKeys(
  unit: Unit,
  change: (keys: readonly ApproverKey[]) => ApproverKey[],
): readonly ApproverKey[] {
  const registry = findRegistry(unit) ?? create(unit);
  // As they are going to be written: the code must be over that.
  const keys = unit.redactor.value(change(registry.keys));
  unit.emit(registry, "vendor.bridle.approvers.changed", {
    keys,
    mac: macOf(unit.deps, registry.tenant_id, keys),
  });
  return keys;
}

function create(unit: Unit): ApproverRegistryRecord {
  const registry: ApproverRegistryRecord = {
    ...unit.envelope("approver_registry", "approvers"),
    id: approverRegistryId(unit.caller.tenantId),
    metadata: {},
    keys: [],
    mac: macOf(unit.deps, unit.caller.tenantId, []),
  };
  return unit.emit(registry, "vendor.bridle.approvers.created", { approver_registry: registry });
}

function macOf({ approvals }: KernelDeps, tenantId: string, keys: readonly ApproverKey[]): string {
  return approvals.mac("registry", canonicalJson({ tenantId, keys }));
}

/** A policy as it holds for one task. */
export interface ApprovalTerms extends ApprovalPolicy {
  /** The approvers who do not count, because they submitted the task. */
  except?: readonly string[];
}

export function termsFor(task: TaskRecord): ApprovalTerms | undefined {
  const { approval_policy: policy } = task.policy;
  return policy?.four_eyes === true ? { ...policy, except: namesOf(submitterOf(task)) } : policy;
}

export function isEligible(key: ApproverKey, policy: ApprovalTerms | undefined, nowMs: number): boolean {
  if (!maySign(key, nowMs) || !key.roles.includes(approverRole)) return false;
  if (policy?.except?.includes(key.approverId)) return false;
  return policy?.approvers === undefined || policy.approvers.includes(key.approverId);
}
