/**
 * What an enforcer writes down, one record per line, each holding the hash of the one before: changing, dropping or
 * moving a record breaks every hash behind it. What was cut off at the end shows only to who kept the last hash.
 */

import { bareHashForm, canonicalBytes, sha256Hex } from "./canonical.ts";
import { HarpError } from "./harp-error.ts";
import { id, integer, matching, object, time } from "./read.ts";

export interface AuditRecord {
  /** From 1, without gaps. */
  seq: number;
  ts: string;
  event: string;
  /** The hash of the record before, or zeros. */
  prev: string;
  /** Bare hex, over all the rest. */
  hash: string;
  [fact: string]: unknown;
}

export type AuditVerdict =
  /** `head` is the last hash, to be compared with the one that was kept elsewhere. */
  { valid: true; count: number; head: string } | { valid: false; seq: number; why: string };

const noRecordHash = "0".repeat(64);

const ownMembers = ["seq", "ts", "event", "prev", "hash"];
const hashReader = matching(bareHashForm, "64 lowercase hex digits");

/** Facts are for people who investigate: ids and reasons, never what was reviewed, nor keys. */
export async function nextAuditRecord(
  prev: Pick<AuditRecord, "seq" | "hash"> | null,
  ts: string,
  event: string,
  facts: Record<string, unknown> = {},
): Promise<AuditRecord> {
  const record = draftAuditRecord(prev, ts, event, facts);
  return { ...record, hash: await hashOfRecord(record) };
}

export type AuditDraft = Pick<AuditRecord, "seq" | "ts" | "event" | "prev"> & Record<string, unknown>;

/** The same without its hash, which is over the canonical form of all the rest. */
export function draftAuditRecord(
  prev: Pick<AuditRecord, "seq" | "hash"> | null,
  ts: string,
  event: string,
  facts: Record<string, unknown>,
): AuditDraft {
  const taken = Object.keys(facts).find((name) => ownMembers.includes(name));
  if (taken !== undefined) throw new TypeError(`A record has its own ${taken}; a fact needs another name`);
  return { ...facts, seq: (prev?.seq ?? 0) + 1, ts, event, prev: prev?.hash ?? noRecordHash };
}

/** From the first record on. Never throws, whatever it is handed. */
export async function verifyAudit(records: Iterable<unknown>): Promise<AuditVerdict> {
  let count = 0;
  let head = noRecordHash;
  for (const value of records) {
    const seq = count + 1;
    try {
      const record = readAuditRecord(value);
      if (record.seq !== seq) return broken(seq, `its seq is ${record.seq}`);
      if (record.prev !== head) return broken(seq, "its prev is not the hash of the record before");
      if ((await hashOfRecord(record)) !== record.hash)
        return broken(seq, "its hash is not that of its members");
      head = record.hash;
    } catch (error) {
      return broken(seq, error instanceof HarpError ? error.message : "it cannot be read");
    }
    count = seq;
  }
  return { valid: true, count, head };
}

function readAuditRecord(value: unknown): AuditRecord {
  const facts = object(value, "record");
  return {
    ...facts,
    seq: integer(1, Number.MAX_SAFE_INTEGER)(facts.seq, "record.seq"),
    ts: time(facts.ts, "record.ts"),
    event: id(facts.event, "record.event"),
    prev: hashReader(facts.prev, "record.prev"),
    hash: hashReader(facts.hash, "record.hash"),
  };
}

async function hashOfRecord(record: object): Promise<string> {
  const hashed: Record<string, unknown> = { ...record };
  delete hashed.hash;
  return await sha256Hex(canonicalBytes(hashed));
}

function broken(seq: number, why: string): AuditVerdict {
  return { valid: false, seq, why };
}
