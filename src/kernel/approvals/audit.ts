/**
 * The audit log of approvals: each record has the hash of the one before it, so that a changed one shows. It is written
 * with what it tells of, in one commit, and holds no content.
 */

import { type AuditRecord, draftAuditRecord } from "../../harp/core/audit.ts";
import { canonicalBytes } from "../../harp/core/canonical.ts";
import { sha256Hex } from "../core/content.ts";
import type { Unit } from "../core/unit.ts";
import { type ApprovalAuditRecord, approvalAuditId } from "../kinds/approval-audit.ts";

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

export function audit(
  unit: Unit,
  event: AuditEvent,
  facts: Record<string, string | number | null>,
): AuditRecord {
  const chain = findOrBegin(unit);
  // Before the record is hashed: ids come from outside too, and what is written is written without what looks like a secret.
  const draft = draftAuditRecord(chain.last, unit.at, event, unit.redactor.value(facts));
  const record = { ...draft, hash: sha256Hex(canonicalBytes(draft)) };
  unit.emit(chain, "vendor.bridle.approvals.audited", { record });
  return record;
}

function findOrBegin(unit: Unit): ApprovalAuditRecord {
  const id = approvalAuditId(unit.caller.tenantId);
  // Everybody in the tenant writes here; in turns nobody has to begin again.
  unit.hold(id);
  const found = unit.findAsSystem("approval_audit", id);
  if (found !== undefined) return found;
  const chain: ApprovalAuditRecord = {
    ...unit.envelope("approval_audit", "approval_audit"),
    id,
    metadata: {},
    last: null,
  };
  return unit.emit(chain, "vendor.bridle.approvals.audit_begun", { approval_audit: chain });
}
