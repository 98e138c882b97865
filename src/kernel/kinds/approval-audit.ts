/** The end of a tenant's chain of audit records; the records themselves are events. */

import type { AuditRecord } from "../../harp/core/audit.ts";
import type { KernelEvent } from "../core/events.ts";
import type { Resource } from "./resource.ts";

export interface ApprovalAuditRecord extends Resource<"approval_audit"> {
  last: Pick<AuditRecord, "seq" | "hash"> | null;
}

export function approvalAuditId(tenantId: string): string {
  return `approval_audit_${tenantId}`;
}

export function foldApprovalAudit(audit: ApprovalAuditRecord, event: KernelEvent): ApprovalAuditRecord {
  if (event.event !== "vendor.bridle.approvals.audited") return audit;
  const { seq, hash } = event.payload.record;
  return { ...audit, last: { seq, hash }, updated_at: event.createdAt };
}
