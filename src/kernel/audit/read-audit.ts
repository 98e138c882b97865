/** Reading the audit log of the caller's tenant: pages, newest first; everything from a cursor on as it happens; the whole; its proof. */

import { type Caller, isBound } from "../../policy/caller.ts";
import { type AuditRecord, type AuditVerdict, verifyAuditLog } from "../../receipts/audit-record.ts";
import { nextSlice } from "../../slices.ts";
import type { StoredEvent, TenantStore } from "../../store/port.ts";
import { requireScope } from "../access/authorize.ts";
import { decodeCursor, encodeCursor } from "../core/cursor.ts";
import { HarnessError } from "../core/errors.ts";
import { followLog, type LogTail, readLog } from "../core/log-tail.ts";
import { type Page, pageSizeDefault, type ReadDeps } from "../core/read.ts";
import { cursorPosition, type EventRange } from "../core/read-events.ts";
import { type AuditLogRecord, auditLogId, auditRecordOf } from "../kinds/audit-log.ts";

export interface AuditFilter {
  action?: string | undefined;
  actor?: string | undefined;
  /** Both inclusive, in UTC. */
  from?: string | undefined;
  until?: string | undefined;
}

/** Records that one request looks at in search of those that match. */
const scannedMax = 2000;
const scannedAtOnce = 200;

/** The log is the whole tenant's: a key that is bound to workspaces, agents or personas does not read it. */
export function requireAuditor(caller: Caller): void {
  requireScope(caller, "audit:read");
  if (!isBound(caller)) return;
  throw new HarnessError(
    "permission_denied",
    "A key that is bound to workspaces, agents or personas cannot read the audit log.",
  );
}

/** A page may have no records and a next page, when many did not match. */
export async function listAudit(
  { store }: ReadDeps,
  caller: Caller,
  request: AuditFilter & { cursor?: string | undefined; limit?: number | undefined },
): Promise<Page<AuditRecord>> {
  requireAuditor(caller);
  const own = store.of(caller.tenantId);
  const { limit = pageSizeDefault, cursor } = request;
  const isMatch = matcher(request);
  const data: AuditRecord[] = [];
  let through = cursor === undefined ? undefined : decodeCursor("audit", cursor).born - 1;
  for (let scanned = 0; scanned < scannedMax; scanned += scannedAtOnce) {
    const page = await own.events({
      ...streamOf(own),
      after: 0,
      through,
      newestFirst: true,
      limit: scannedAtOnce,
    });
    for (const event of page) {
      if (data.length === limit) return { data, nextCursor: cursorAt(through) };
      const record = auditRecordOf(event);
      if (record !== null && isMatch(record)) data.push(record);
      through = event.position - 1;
    }
    if (page.length < scannedAtOnce) return { data, nextCursor: null };
    await nextSlice();
  }
  return { data, nextCursor: cursorAt(through) };
}

function cursorAt(through = 0): string {
  return encodeCursor("audit", { born: through + 1, id: "" });
}

function matcher({ action, actor, from, until }: AuditFilter): (record: AuditRecord) => boolean {
  const [first, last] = [Date.parse(from ?? ""), Date.parse(until ?? "")];
  return (record) => {
    const at = Date.parse(record.created_at);
    // No time is neither too early nor too late.
    const isInTime = !(at < first) && !(at > last);
    return (
      isInTime && (action ?? record.action) === record.action && (actor ?? record.actor) === record.actor
    );
  };
}

/** History first, then live, until the signal says stop. */
export async function followAudit(
  deps: ReadDeps & { tail: LogTail },
  caller: Caller,
  range: Pick<EventRange, "afterEventId" | "cursorParam">,
  signal: AbortSignal,
): Promise<AsyncGenerator<StoredEvent[]>> {
  requireAuditor(caller);
  const own = deps.store.of(caller.tenantId);
  const after = await cursorPosition(deps, caller, range, streamOf(own));
  return followLog(own, deps.tail, { ...streamOf(own), after }, signal);
}

/** From the first record on. */
export async function* exportAudit({ store }: ReadDeps, caller: Caller): AsyncGenerator<AuditRecord> {
  requireAuditor(caller);
  const own = store.of(caller.tenantId);
  for await (const events of readLog(own, { ...streamOf(own), after: 0 })) {
    for (const event of events) {
      const record = auditRecordOf(event);
      if (record !== null) yield record;
      await nextSlice();
    }
  }
}

/** Checks every hash, and that the log is as long as its document says. */
export async function verifyAudit(deps: ReadDeps, caller: Caller): Promise<AuditVerdict> {
  requireAuditor(caller);
  const own = deps.store.of(caller.tenantId);
  const document = await own.get("audit_log", auditLogId(caller.tenantId));
  const { size, head_hash } = (document?.body as AuditLogRecord | undefined) ?? { size: 0, head_hash: null };
  const seen: { head: string | null } = { head: null };
  const verdict = await verifyAuditLog(noting(exportAudit(deps, caller), size, seen));
  if (!verdict.valid) return verdict;
  if (verdict.size < size) {
    return { valid: false, index: verdict.size + 1, reason: `the log ends here and had ${size} records` };
  }
  return seen.head === head_hash
    ? verdict
    : { valid: false, index: size, reason: "its hash is not the one that was kept beside the log" };
}

async function* noting(
  records: AsyncGenerator<AuditRecord>,
  index: number,
  seen: { head: string | null },
): AsyncGenerator<AuditRecord> {
  for await (const record of records) {
    if (record.index === index) seen.head = record.hash;
    yield record;
  }
}

/** The store has it under an id of its own, as it has the log of a session. */
function streamOf({ tenantId }: TenantStore): { sessionId: string } {
  return { sessionId: auditLogId(tenantId) };
}
