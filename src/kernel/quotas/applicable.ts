/** Which quotas a new task counts against: its persona's, its workspace's, its tenant's, and the organization's. */

import { HarnessError, notFound } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { PersonaRecord } from "../kinds/persona.ts";
import type { QuotaRecord } from "../kinds/quota.ts";
import { defaultTenantId } from "../workspaces/ensure-tenant.ts";

/** A quota that may be put on something of this scope. */
export function requireQuotaFor(unit: Unit, id: string, scope: QuotaRecord["scope"]): void {
  // While tasks run it changes all the time.
  unit.hold(id);
  const quota = unit.require("quota", id);
  if (quota.deleted_at !== null) throw notFound("quota", id);
  if (quota.scope === scope) return;
  throw new HarnessError("invalid_request", `Quota ${id} is for a ${quota.scope}, not for a ${scope}.`, {
    param: "quota_id",
  });
}

export function applicableQuotas(unit: Unit, persona: PersonaRecord, workspaceId: string): string[] {
  const { tenantId } = unit.caller;
  unit.prefetch(
    [
      { kind: "workspace", id: workspaceId },
      { kind: "tenant", id: tenantId },
      { kind: "tenant", id: defaultTenantId, tenantId: defaultTenantId },
    ],
    // That one of these changes at this very moment is no reason to decide again.
    { isPeek: true },
  );
  const organization = unit.peek("tenant", defaultTenantId, defaultTenantId);
  const ids = [
    persona.quota_id,
    unit.peek("workspace", workspaceId)?.quota_id,
    ...(unit.peek("tenant", tenantId)?.quota_ids ?? []),
    ...(organization?.organization_quota_ids ?? []),
  ];
  return [...new Set(ids.filter((id) => id != null))];
}
