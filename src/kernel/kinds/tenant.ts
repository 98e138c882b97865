/** A tenant: the outermost boundary. Nothing of one is ever visible to another. */

import type { KernelEvent } from "../core/events.ts";
import type { Resource } from "./resource.ts";
import { type Erasure, laterOf } from "./session.ts";

export type AdminKeyChange = "rotated" | "disabled" | "enabled";

export interface TenantRecord extends Resource<"tenant"> {
  default_workspace_id: string;
  default_persona_id: string;
  /** Quotas that hold for everything in the tenant. */
  quota_ids: string[];
  /** Of the default tenant only: quotas that hold for all tenants. */
  organization_quota_ids: string[];
  /** Of the default tenant only: since when the administrator's key is switched off. */
  admin_key_disabled_at?: string | null;
  /** The last of its events that left the log by age. */
  trimmed_through_event_id?: string;
  /** The last time that somebody asked for its content to be erased. */
  erasure?: Erasure;
}

export function foldTenant(tenant: TenantRecord, event: KernelEvent): TenantRecord {
  const without = (ids: string[], removed: string) => ids.filter((id) => id !== removed);
  switch (event.event) {
    case "vendor.bridle.tenant.quota_added": {
      const list = event.payload.scope === "tenant" ? "quota_ids" : "organization_quota_ids";
      return { ...tenant, [list]: [...tenant[list], event.payload.quota_id], updated_at: event.createdAt };
    }
    case "vendor.bridle.tenant.quota_removed": {
      const { quota_id } = event.payload;
      const quota_ids = without(tenant.quota_ids, quota_id);
      const organization_quota_ids = without(tenant.organization_quota_ids, quota_id);
      return { ...tenant, quota_ids, organization_quota_ids, updated_at: event.createdAt };
    }
    case "vendor.bridle.tenant.admin_key_changed":
      return { ...tenant, ...disabledBy(event.payload.change, event.createdAt), updated_at: event.createdAt };
    case "vendor.bridle.log.trimmed":
      return { ...tenant, trimmed_through_event_id: laterOf(tenant, event.payload) };
    case "vendor.bridle.tenant.erasure_requested":
      return { ...tenant, erasure: event.payload.erasure, updated_at: event.createdAt };
    case "vendor.bridle.tenant.erased": {
      const { erasure } = tenant;
      if (erasure === undefined) return tenant;
      return { ...tenant, erasure: { ...erasure, erased_at: event.createdAt }, updated_at: event.createdAt };
    }
    default:
      return tenant;
  }
}

function disabledBy(change: AdminKeyChange, at: string): Pick<TenantRecord, "admin_key_disabled_at"> {
  return change === "rotated" ? {} : { admin_key_disabled_at: change === "disabled" ? at : null };
}
