/**
 * Adds a record to the audit log, in the commit of the change that it is about. Commands declare their record (`audit` of `Command`); what
 * is no command's result calls this.
 */

import type { Caller } from "../../policy/caller.ts";
import { type AuditDetails, type AuditRecord, auditHash } from "../../receipts/audit-record.ts";
import type { Unit } from "../core/unit.ts";
import { wellFormed } from "../core/well-formed.ts";
import { type AuditLogRecord, auditLogId, emptyAuditLog } from "../kinds/audit-log.ts";

export interface AuditFacts {
  action: string;
  resource: AuditRecord["resource"];
  /** Ids, names and numbers. Never content or secrets. */
  details?: AuditDetails;
  outcome?: AuditRecord["outcome"];
  /** The tenants that it concerns beside the caller's own: it is in the audit log of each. */
  tenantIds?: readonly string[];
  /** Who did it, where that is not the caller of the command. */
  by?: AuditActor;
}

export type AuditActor = Pick<Caller, "tenantId" | "keyId" | "address"> & { actor: string | null };

/** What a command's declaration returns, in one line. */
export function audited(
  action: string,
  { object, id }: { object: string; id: string },
  details: AuditDetails = {},
): AuditFacts {
  return { action, resource: { object, id }, details };
}

/** Longer names are cut: nothing that a caller chose makes a record large. */
const textCharsMax = 256;
/** More than any list of scopes has. */
const listMax = 100;

export function recordAudit(unit: Unit, facts: AuditFacts): void {
  const by = facts.by ?? unit.caller;
  const tenantIds = new Set([unit.caller.tenantId, by.tenantId, ...(facts.tenantIds ?? [])]);
  // In the order of their ids, as locks are taken.
  for (const id of [...tenantIds].sort()) addTo(unit, id, by, facts);
}

function addTo(unit: Unit, tenantId: string, by: AuditActor, facts: AuditFacts): void {
  const log = findOrBegin(unit, tenantId);
  const isForeign = by.tenantId !== tenantId;
  // Before it is hashed: names come from outside, and what looks like a secret is taken out of everything.
  const record = wellFormed(
    unit.redactor.value({
      action: facts.action,
      outcome: facts.outcome ?? "success",
      actor: by.actor,
      key_id: by.keyId ?? null,
      address: by.address ?? null,
      resource: facts.resource,
      details: {
        ...bounded(facts.details ?? {}),
        ...(isForeign ? { actor_tenant_id: by.tenantId } : {}),
      },
      previous_hash: log.head_hash,
    }),
  );
  const hash = auditHash({ ...record, index: log.size + 1, tenant_id: tenantId, created_at: unit.at });
  unit.emit(log, "vendor.bridle.audit.recorded", { ...record, hash });
}

function findOrBegin(unit: Unit, tenantId: string): AuditLogRecord {
  const id = auditLogId(tenantId);
  // Everybody in the tenant writes here; in turns nobody has to begin again.
  unit.hold(id);
  return unit.findAsSystem("audit_log", id, tenantId) ?? emptyAuditLog(tenantId, unit.at);
}

function bounded(details: AuditDetails): AuditDetails {
  const short = (text: string) => text.slice(0, textCharsMax);
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => {
      if (typeof value === "string") return [name, short(value)];
      if (!Array.isArray(value)) return [name, value];
      const cut = value.length > listMax ? [`… ${value.length - listMax} more`] : [];
      return [name, [...value.slice(0, listMax).map(short), ...cut]];
    }),
  );
}
