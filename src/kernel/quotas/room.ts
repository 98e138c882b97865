/**
 * Whether there is room for more data: on the disk, above the operator's floor, and under the limits of `storage_bytes` that hold for the
 * tenant. Commands that free space, end something or record what has happened are not asked.
 *
 * What a tenant has stored is counted by the store in the commit that adds or removes it. Requests under way at the same time may
 * together exceed a limit by what they add.
 */

import type { Caller } from "../../policy/caller.ts";
import type { Shortage } from "../../store/port.ts";
import { HarnessError } from "../core/errors.ts";
import type { KernelDeps, Unit } from "../core/unit.ts";
import type { QuotaRecord } from "../kinds/quota.ts";
import { defaultTenantId } from "../workspaces/ensure-tenant.ts";
import { QuotaRefusal } from "./refusal.ts";

/** Throws if there is no room for more data. */
export function requireRoom(unit: Unit): void {
  const shortage = unit.deps.store.shortage();
  if (shortage !== null) throw outOfRoom(shortage);
  requireStorage(unit, 1);
}

/** Throws if the tenant may not store this many bytes more. */
export function requireStorage(unit: Unit, bytes: number): void {
  const tightest = storageLeft(unit);
  if (tightest !== null && bytes > tightest.left) throw storageRefusal(unit.caller, tightest);
}

export interface StorageLimit {
  quota: QuotaRecord;
  most: number;
  used: number;
  left: number;
}

/** The limit that leaves the tenant least; null if nothing limits it. */
export function storageLeft(unit: Unit): StorageLimit | null {
  const limits = tenantQuotas(unit).flatMap((quota) => {
    const { storage_bytes: most } = quota.limits;
    return most !== undefined && quota.hard_limit ? [{ quota, most }] : [];
  });
  const [tightest] = limits.sort((a, b) => a.most - b.most);
  if (tightest === undefined) return null;
  const { deps, caller } = unit;
  const { storage_bytes: used } = unit.awaited("storage", () => storageOf(deps, caller.tenantId));
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

export async function storageOf(
  { store, files }: Pick<KernelDeps, "store" | "files">,
  tenantId: string,
): Promise<Storage> {
  const [{ log, blobs }, ofFiles] = await Promise.all([
    store.of(tenantId).storedBytes(),
    files.bytesOf(tenantId),
  ]);
  return { storage_bytes: log + blobs + ofFiles, log_bytes: log, blob_bytes: blobs, file_bytes: ofFiles };
}

/** Peeked at: that one of them changes at this moment is no reason to decide again. */
function tenantQuotas(unit: Unit): QuotaRecord[] {
  const { tenantId } = unit.caller;
  const isPeek = true;
  unit.prefetch(
    [tenantId, defaultTenantId].map((id) => ({ kind: "tenant", id, tenantId: id })),
    { isPeek },
  );
  const own = unit.peek("tenant", tenantId)?.quota_ids ?? [];
  const organization = unit.peek("tenant", defaultTenantId, defaultTenantId)?.organization_quota_ids ?? [];
  const keys = [
    ...own.map((id) => ({ kind: "quota", id, tenantId }) as const),
    ...organization.map((id) => ({ kind: "quota", id, tenantId: defaultTenantId }) as const),
  ];
  unit.prefetch(keys, { isPeek });
  return keys.flatMap(({ id, tenantId: of }) => {
    const quota = unit.peek("quota", id, of);
    return quota === undefined || quota.deleted_at !== null ? [] : [quota];
  });
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
