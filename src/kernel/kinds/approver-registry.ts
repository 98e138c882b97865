/**
 * The approvers of a tenant: their public keys. The list carries a code that only this server can make, so that a list which
 * somebody else wrote into the store is worth nothing.
 */

import type { ApproverKey } from "../../harp/core/approver-key.ts";
import type { KernelEvent } from "../core/events.ts";
import type { Resource } from "./resource.ts";

export interface ApproverRegistryRecord extends Resource<"approver_registry"> {
  keys: ApproverKey[];
  mac: string;
}

export function approverRegistryId(tenantId: string): string {
  return `approvers_${tenantId}`;
}

export function foldApproverRegistry(
  registry: ApproverRegistryRecord,
  event: KernelEvent,
): ApproverRegistryRecord {
  if (event.event !== "vendor.bridle.approvers.changed") return registry;
  const { keys, mac } = event.payload;
  return { ...registry, keys, mac, updated_at: event.createdAt };
}
