/**
 * A record of the audit log as it is exported, and the check of a whole log. Each record has the hash of the one before it: changing,
 * dropping or moving a record breaks the chain there. Records cut off at the end show only against a head hash kept elsewhere.
 */

import { hashOf } from "./canonical.ts";

export type AuditDetails = { [name: string]: string | number | boolean | null | readonly string[] };

export interface AuditRecord {
  /** From 1, without gaps. */
  index: number;
  tenant_id: string;
  created_at: string;
  /** What was done, `<object>.<verb>`. */
  action: string;
  outcome: "success" | "failure";
  /** Null when nobody was identified. */
  actor: string | null;
  key_id: string | null;
  /** The network address that the request came from; null for the server itself. */
  address: string | null;
  resource: { object: string; id: string } | null;
  /** Ids, names and numbers. Never content or secrets. */
  details: AuditDetails;
  /** Null for the first. */
  previous_hash: string | null;
  hash: string;
}

export type AuditVerdict =
  | { valid: true; size: number; head_hash: string | null }
  /** `index` is the first place where the log is wrong. */
  | { valid: false; index: number; reason: string };

/** SHA-256 over the canonical JSON of all members but the hash itself. */
export function auditHash(record: Omit<AuditRecord, "hash">): string {
  const { index, tenant_id, created_at, action, outcome, actor, key_id, address, resource, details } = record;
  const { previous_hash } = record;
  return hashOf({
    ...{ index, tenant_id, created_at, action, outcome, actor, key_id, address, resource, details },
    previous_hash,
  });
}

/** From the first record on, of one tenant. */
export async function verifyAuditLog(
  records: AsyncIterable<unknown> | Iterable<unknown>,
): Promise<AuditVerdict> {
  let size = 0;
  let before: AuditRecord | null = null;
  for await (const value of records) {
    const reason = wrongWith(value, size + 1, before);
    if (reason !== null) return { valid: false, index: size + 1, reason };
    // It has the hash of a record, so it is one.
    before = value as AuditRecord;
    size += 1;
  }
  return { valid: true, size, head_hash: before?.hash ?? null };
}

function wrongWith(value: unknown, index: number, before: AuditRecord | null): string | null {
  if (typeof value !== "object" || value === null) return "it is not a record";
  const record: Partial<AuditRecord> = value;
  if (record.index !== index) return `its index is ${JSON.stringify(record.index)}`;
  if (record.previous_hash !== (before?.hash ?? null))
    return "its previous_hash is not the hash of the record before";
  if (before !== null && record.tenant_id !== before.tenant_id) return "it is of another tenant";
  return record.hash === hashIfAny(record) ? null : "its hash is not the hash of its members";
}

function hashIfAny(record: Partial<AuditRecord>): string | null {
  try {
    // What lacks a member has no such hash.
    return auditHash(record as AuditRecord);
  } catch {
    return null;
  }
}
