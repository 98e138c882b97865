/** Make, change and delete quotas. Those of a tenant or of the organization hold for everything in it, at once. */

import { isBound } from "../../policy/caller.ts";
import type { JsonObject } from "../../store/port.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { QuotaChanges, QuotaRecord } from "../kinds/quota.ts";
import { defaultTenantId } from "../workspaces/ensure-tenant.ts";
import { noteRefusal } from "./ledger.ts";
import { nextReset } from "./limits.ts";

export interface CreateQuota {
  scope: QuotaRecord["scope"];
  limits: QuotaRecord["limits"];
  hardLimit?: boolean | undefined;
  onExhaustion?: QuotaRecord["on_exhaustion"] | undefined;
  resetWindow?: QuotaRecord["reset_window"] | undefined;
  resetAt?: string | null | undefined;
  metadata?: JsonObject | undefined;
}

export const createQuota: Command<CreateQuota, QuotaRecord> = {
  name: "create_quota",
  scope: "quotas:write",
  audit: (_, quota) => audited("quota.create", quota, { scope: quota.scope }),
  decide(unit, request) {
    refuseUnlessInCharge(unit, request.scope);
    requireCountable(request.scope, request.limits);
    const window = request.resetWindow ?? null;
    const quota: QuotaRecord = {
      ...unit.envelope("quota", "quota"),
      metadata: request.metadata ?? {},
      scope: request.scope,
      limits: request.limits,
      usage: {},
      hard_limit: request.hardLimit ?? true,
      on_exhaustion: request.onExhaustion ?? "end",
      reset_window: window,
      reset_at: request.resetAt ?? nextReset({ reset_window: window }, Date.parse(unit.at)),
      exhaustion_reason: null,
      last_receipt_id: null,
      running: 0,
      open: {},
      minute: null,
      deleted_at: null,
    };
    const created = unit.emit(quota, "vendor.bridle.quota.created", { quota });
    if (quota.scope === "tenant" || quota.scope === "organization") {
      const tenant = unit.require("tenant", unit.caller.tenantId);
      unit.emit(tenant, "vendor.bridle.tenant.quota_added", { quota_id: quota.id, scope: quota.scope });
    }
    return created;
  },
};

export const updateQuota: Command<{ quotaId: string; changes: QuotaChanges }, QuotaRecord> = {
  name: "update_quota",
  scope: "quotas:write",
  audit: ({ changes }, quota) => audited("quota.update", quota, { changed: Object.keys(changes) }),
  // Raising a limit is a way out; metadata only add to what is there.
  isAllowedWithoutRoom: ({ changes }) => changes.metadata === undefined,
  decide(unit, { quotaId, changes }) {
    const quota = requireQuota(unit, quotaId);
    refuseUnlessInCharge(unit, quota.scope);
    requireCountable(quota.scope, changes.limits ?? {});
    const reset =
      changes.reset_window === undefined || changes.reset_at !== undefined
        ? {}
        : { reset_at: nextReset({ reset_window: changes.reset_window }, Date.parse(unit.at)) };
    return unit.emit(quota, "vendor.bridle.quota.updated", { changes: { ...changes, ...reset } });
  },
};

export const deleteQuota: Command<{ quotaId: string }, QuotaRecord> = {
  name: "delete_quota",
  scope: "quotas:write",
  audit: (_, quota) => audited("quota.delete", quota, { scope: quota.scope }),
  isAllowedWithoutRoom: true,
  decide(unit, { quotaId }) {
    const quota = requireQuota(unit, quotaId);
    refuseUnlessInCharge(unit, quota.scope);
    if (quota.scope === "tenant" || quota.scope === "organization") {
      const tenant = unit.require("tenant", quota.tenant_id);
      unit.emit(tenant, "vendor.bridle.tenant.quota_removed", { quota_id: quota.id });
    }
    return unit.emit(quota, "vendor.bridle.quota.deleted", {});
  },
};

/** Somebody was refused: the quota says so, once. */
export const noteExhaustion: Command<{ quotaId: string }, null> = {
  name: "note_exhaustion",
  scope: "tasks:write",
  decide(unit, { quotaId }) {
    noteRefusal(unit, quotaId);
    return null;
  },
};

/** What is stored is counted for each tenant as a whole. */
function requireCountable(scope: QuotaRecord["scope"], { storage_bytes }: QuotaRecord["limits"]): void {
  if (storage_bytes === undefined || scope === "tenant" || scope === "organization") return;
  throw new HarnessError(
    "invalid_request",
    `A quota for a ${scope} cannot limit storage_bytes; one for a tenant can.`,
    {
      param: "limits",
    },
  );
}

function requireQuota(unit: Unit, id: string): QuotaRecord {
  unit.hold(id);
  const quota = unit.require("quota", id);
  if (quota.deleted_at !== null) throw notFound("quota", id);
  return quota;
}

/** What holds for a tenant is its administrators' to say; what holds for all tenants, that of whoever runs the server. */
function refuseUnlessInCharge({ caller }: Unit, scope: QuotaRecord["scope"]): void {
  // A quota is the tenant's, also one of a workspace: it may be that of a workspace which the key does not see.
  if (isBound(caller)) {
    throw new HarnessError(
      "permission_denied",
      "A key bound to workspaces, agents or personas cannot set quotas.",
    );
  }
  if (scope === "organization" && (caller.tenantId !== defaultTenantId || !caller.scopes.has("admin"))) {
    throw new HarnessError(
      "permission_denied",
      "Only an administrator of the server sets quotas for all tenants.",
    );
  }
}
