/** The end of a tenant's audit log; the records themselves are its events, so an event's sequence is the record's index. */

import type { AuditRecord } from "../../receipts/audit-record.ts";
import type { StoredEvent } from "../../store/port.ts";
import { asKernelEvent, type KernelEvent } from "../core/events.ts";
import type { Resource } from "./resource.ts";

/** What the event of a record does not say by itself. */
export type AuditRecorded = Omit<AuditRecord, "index" | "tenant_id" | "created_at">;

export interface AuditLogRecord extends Resource<"audit_log"> {
  size: number;
  head_hash: string | null;
}

export function auditLogId(tenantId: string): string {
  return `audit_log_${tenantId}`;
}

export function emptyAuditLog(tenantId: string, at: string): AuditLogRecord {
  return {
    id: auditLogId(tenantId),
    object: "audit_log",
    tenant_id: tenantId,
    created_at: at,
    updated_at: at,
    metadata: {},
    size: 0,
    head_hash: null,
  };
}

export function foldAuditLog(log: AuditLogRecord, event: KernelEvent): AuditLogRecord {
  if (event.event !== "vendor.bridle.audit.recorded") return log;
  return { ...log, size: log.size + 1, head_hash: event.payload.hash, updated_at: event.createdAt };
}

/** The record that an event of an audit log is; null for any other event. */
export function auditRecordOf(stored: StoredEvent): AuditRecord | null {
  const event = asKernelEvent(stored);
  if (event.event !== "vendor.bridle.audit.recorded") return null;
  const { sequence: index, tenantId: tenant_id, createdAt: created_at } = stored;
  return { index, tenant_id, created_at, ...event.payload };
}
