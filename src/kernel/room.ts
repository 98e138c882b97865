/**
 * Whether there is room for more data: on the disk, above the operator's floor, and under the limits of `storage_bytes` that hold for the
 * tenant. Commands that free space, end something or record what has happened are not asked.
 *
 * What a tenant has stored is counted by the store in the commit that adds or removes it. Requests under way at the same time may
 * together exceed a limit by what they add.
 */

import type { Caller } from "../policy/caller.ts";
import type { Shortage, TenantStore } from "../store/port.ts";
import { defaultTenantId } from "./commands/ensure-tenant.ts";
import { HarnessError } from "./errors.ts";
import { QuotaRefusal } from "./quotas/refusal.ts";
import type { QuotaRecord } from "./resources/quota.ts";
import type { TenantRecord } from "./resources/tenant.ts";
import type { KernelDeps } from "./unit.ts";

type Deps = Pick<KernelDeps, "store" | "files">;

/** Throws if there is no room for more data. */
export async function requireRoom(deps: Deps, caller: Caller): Promise<void> {
  const shortage = deps.store.shortage();
  if (shortage !== null) throw outOfRoom(shortage);
  await requireStorage(deps, caller, 1);
}

/** Throws if the tenant may not store this many bytes more. */
export async function requireStorage(deps: Deps, caller: Caller, bytes: number): Promise<void> {
  const tightest = await storageLeft(deps, caller);
  if (tightest !== null && bytes > tightest.left) throw storageRefusal(caller, tightest);
}

export interface StorageLimit {
  quota: QuotaRecord;
  most: number;
  used: number;
  left: number;
}

/** The limit that leaves the tenant least; null if nothing limits it. */
export async function storageLeft(deps: Deps, { tenantId }: Caller): Promise<StorageLimit | null> {
  const limits: { quota: QuotaRecord; most: number }[] = [];
  for (const quota of await tenantQuotas(deps, tenantId)) {
    const { storage_bytes: most } = quota.limits;
    if (most !== undefined && quota.hard_limit) limits.push({ quota, most });
  }
  const [tightest] = limits.sort((a, b) => a.most - b.most);
  if (tightest === undefined) return null;
  const { storage_bytes: used } = await storageOf(deps, tenantId);
  return { ...tightest, used, left: Math.max(0, tightest.most - used) };
}

export function storageRefusal(caller: Caller, { quota, most, used }: StorageLimit): QuotaRefusal {
  return new QuotaRefusal({ caller }, { quota, limit: "storage_bytes", most, used, retryAfterMs: null });
}

export interface Storage {
  storage_bytes: number;
  log_bytes: number;
  blob_bytes: number;
  file_bytes: number;
}

export async function storageOf({ store, files }: Deps, tenantId: string): Promise<Storage> {
  const [{ log, blobs }, ofFiles] = await Promise.all([
    store.of(tenantId).storedBytes(),
    files.bytesOf(tenantId),
  ]);
  return { storage_bytes: log + blobs + ofFiles, log_bytes: log, blob_bytes: blobs, file_bytes: ofFiles };
}

/** Read, not loaded: that one of them changes at this moment is no reason to decide again. */
async function tenantQuotas({ store }: Deps, tenantId: string): Promise<QuotaRecord[]> {
  const [own, organization] = [store.of(tenantId), store.of(defaultTenantId)];
  const of = async (view: TenantStore, id: string) =>
    (view.known("tenant", id) ?? (await view.get("tenant", id)))?.body as TenantRecord | undefined;
  const tenant = await of(own, tenantId);
  const server = tenantId === defaultTenantId ? tenant : await of(organization, defaultTenantId);
  const found: QuotaRecord[] = [];
  for (const [view, ids] of [
    [own, tenant?.quota_ids ?? []],
    [organization, server?.organization_quota_ids ?? []],
  ] as const) {
    for (const id of ids) {
      const quota = (await view.get("quota", id))?.body as QuotaRecord | undefined;
      if (quota !== undefined && quota.deleted_at === null) found.push(quota);
    }
  }
  return found;
}

const mebibyte = 1024 * 1024;

function outOfRoom({ freeBytes, floorBytes }: Shortage): HarnessError {
  const [free, floor] = [freeBytes, floorBytes].map((bytes) => `${Math.floor(bytes / mebibyte)} MiB`);
  return new HarnessError(
    "service_unavailable",
    `The disk is almost full (${free} free, ${floor} required). The request was not applied; deleting and canceling still work.`,
    { details: { reason: "disk almost full" } },
  );
}
