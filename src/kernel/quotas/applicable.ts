/** Which quotas a new task counts against: its persona's, its workspace's, its tenant's, and the organization's. */

import { defaultTenantId } from "../commands/ensure-tenant.ts";
import { HarnessError, notFound } from "../errors.ts";
import type { PersonaRecord } from "../resources/persona.ts";
import type { QuotaRecord } from "../resources/quota.ts";
import type { TenantRecord } from "../resources/tenant.ts";
import type { WorkspaceRecord } from "../resources/workspace.ts";
import type { Unit } from "../unit.ts";

/** A quota that may be put on something of this scope. */
export async function requireQuotaFor(unit: Unit, id: string, scope: QuotaRecord["scope"]): Promise<void> {
  // While tasks run it changes all the time.
  await unit.hold(id);
  const quota = await unit.require("quota", id);
  if (quota.deleted_at !== null) throw notFound("quota", id);
  if (quota.scope === scope) return;
  throw new HarnessError("invalid_request", `Quota ${id} is for a ${quota.scope}, not for a ${scope}.`, {
    param: "quota_id",
  });
}

export async function applicableQuotas(
  unit: Unit,
  persona: PersonaRecord,
  workspaceId: string,
): Promise<string[]> {
  const { deps, own } = unit;
  const { tenantId } = unit.caller;
  // Read, not loaded: that one of these changes at this very moment is no reason to decide again.
  const server = deps.store.of(defaultTenantId);
  const workspace = own.known("workspace", workspaceId) ?? (await own.get("workspace", workspaceId));
  const tenant = own.known("tenant", tenantId) ?? (await own.get("tenant", tenantId));
  const organization =
    server.known("tenant", defaultTenantId) ?? (await server.get("tenant", defaultTenantId));
  const ids = [
    persona.quota_id,
    (workspace?.body as WorkspaceRecord | undefined)?.quota_id,
    ...((tenant?.body as TenantRecord | undefined)?.quota_ids ?? []),
    ...((organization?.body as TenantRecord | undefined)?.organization_quota_ids ?? []),
  ];
  return [...new Set(ids.filter((id) => id != null))];
}
