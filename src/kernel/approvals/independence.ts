/**
 * Who may confirm an approver's key: somebody who is not that approver, and who did not make up the approver alone. An
 * administrator can make an API key for anybody, so from the tenant's second approver on, making the approver's API key and
 * confirming the approver's fingerprint takes two credentials.
 */

import type { HarpScope } from "../../policy/caller.ts";
import type { TenantStore } from "../../store/port.ts";
import { HarnessError } from "../core/errors.ts";
import { paginate } from "../core/paginate.ts";
import type { Unit } from "../core/unit.ts";
import type { ApiKeyRecord } from "../kinds/api-key.ts";
import { findRegistry } from "./registry.ts";

export function assertIndependent(unit: Unit, approverId: string): void {
  const scope: HarpScope = `harp:approver:${approverId}`;
  const { actor, keyId, scopes } = unit.caller;
  if (scopes.has(scope)) throw isThatApprover(approverId);
  const holders = unit.awaited(`keys with ${scope}`, () => keysWith(unit.own, scope));
  if (holders.some((key) => key.id === keyId || key.actor === actor)) throw isThatApprover(approverId);
  const keys = findRegistry(unit)?.keys ?? [];
  const isFirst = keys.every((key) => key.approverId === approverId);
  if (!isFirst && holders.some((key) => key.created_by_key_id === keyId)) {
    throw new HarnessError(
      "permission_denied",
      `This credential made the API key of ${approverId}; somebody with another one (scope approvers:write) must compare the fingerprint and confirm.`,
      { details: { rule: "independent_confirmation", approver_id: approverId } },
    );
  }
}

/** The keys that are, or were, good for being this approver. */
async function keysWith(own: TenantStore, scope: HarpScope): Promise<ApiKeyRecord[]> {
  const found: ApiKeyRecord[] = [];
  for await (const page of paginate(own, { kind: "api_key" })) {
    const keys = page.map(({ body }) => body as ApiKeyRecord);
    found.push(...keys.filter(({ scopes }) => scopes.includes(scope)));
  }
  return found;
}

function isThatApprover(approverId: string): HarnessError {
  return new HarnessError(
    "permission_denied",
    `Nobody confirms a key of their own: this credential, or another one of the same actor, is for approver ${approverId}.`,
    { details: { rule: "independent_confirmation", approver_id: approverId } },
  );
}
