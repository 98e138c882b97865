/**
 * The audit log of approvals: each record has the hash of the one before it, so that a changed one shows. It is written
 * with what it tells of, in one commit, and holds no content.
 */

import { type AuditRecord, nextAuditRecord } from "../../approvals/audit.ts";
import { type ApprovalAuditRecord, approvalAuditId } from "../resources/approval-audit.ts";
import type { Unit } from "../unit.ts";

export type AuditEvent =
  | "key.provisioned"
  | "key.deprecated"
  | "key.revoked"
  | "key.pending"
  | "key.refused"
  | "change.requested"
  | "change.settled"
  | "decision.accepted"
  | "decision.refused"
  | "execution.allowed"
  | "execution.refused"
  | "prompt.delivered"
  | "prompt.refused"
  | "transport.failed";

export async function audit(
  unit: Unit,
  event: AuditEvent,
  facts: Record<string, string | number | null>,
): Promise<AuditRecord> {
  const chain = await findOrBegin(unit);
  // Before the record is hashed: ids come from outside too, and what is written is written without what looks like a secret.
  const record = await nextAuditRecord(chain.last, unit.at, event, unit.redactor.value(facts));
  unit.emit(chain, "vendor.bridle.approvals.audited", { record });
  return record;
}

async function findOrBegin(unit: Unit): Promise<ApprovalAuditRecord> {
  const id = approvalAuditId(unit.caller.tenantId);
  // Everybody in the tenant writes here; in turns nobody has to begin again.
  await unit.hold(id);
  const found = await unit.findForHarness("approval_audit", id);
  if (found !== undefined) return found;
  const chain: ApprovalAuditRecord = {
    ...unit.envelope("approval_audit", "approval_audit"),
    id,
    metadata: {},
    last: null,
  };
  return unit.emit(chain, "vendor.bridle.approvals.audit_begun", { approval_audit: chain });
}
