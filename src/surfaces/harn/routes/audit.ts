/** The audit log: pages of it, a stream that follows it, the whole as a file, and whether it is intact. */

import {
  exportAudit,
  followAudit,
  listAudit,
  requireAuditor,
  verifyAudit,
} from "../../../kernel/audit/read-audit.ts";
import type { AuditRecord } from "../../../receipts/audit-record.ts";
import type { StoredEvent } from "../../../store/port.ts";
import { presentPage } from "../lists.ts";
import { presentEvent } from "../present-event.ts";
import { jsonLines, type Route, route } from "../route.ts";
import { ListOf, LogRangeQuery } from "../schemas.ts";
import { AuditQuery, AuditRecord as AuditRecordSchema, AuditVerification } from "../schemas-audit.ts";
import { streamEvents } from "../sse.ts";
import { cursorOf, type StreamOptions } from "./events.ts";
import { sendLines } from "./transfer.ts";

const tag = "Audit";

function present(record: AuditRecord): object {
  return { object: "audit_record", ...record };
}

async function* linesOf(records: AsyncGenerator<AuditRecord>): AsyncGenerator<string> {
  for await (const record of records) yield JSON.stringify(present(record));
}

export function auditRoutes({ stopped, report, heartbeatMs }: StreamOptions): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/audit",
      operationId: "listAudit",
      scope: "audit:read",
      summary: "Records of the audit log, newest first. A page can be empty and have a next one.",
      tag,
      query: AuditQuery,
      response: ListOf(AuditRecordSchema),
      async handle(call) {
        return await presentPage(await listAudit(call, call.caller, call.query), present);
      },
    }),
    route({
      method: "GET",
      path: "/v1/audit/stream",
      operationId: "streamAudit",
      scope: "audit:read",
      summary: "Follow the audit log from a cursor.",
      tag,
      produces: "text/event-stream",
      query: LogRangeQuery,
      async handle(call) {
        const range = cursorOf(call);
        // Once a stream is open, a refusal has no status of its own any more.
        requireAuditor(call.caller);
        const stream = {
          open: (signal: AbortSignal) => followAudit(call.kernel, call.caller, range, signal),
          after: range.afterEventId,
          present: (event: StoredEvent) => presentEvent(event, call),
          isLast: () => false,
          isStillAllowed: call.kernel.stillAllowed(call.credential),
          stopped,
          requestId: call.request.id,
          report: (error: unknown) => report(error, call.request.id),
        };
        await streamEvents(call.reply, stream, heartbeatMs);
      },
    }),
    route({
      method: "GET",
      path: "/v1/audit/export",
      operationId: "exportAudit",
      scope: "audit:read",
      summary: "The whole audit log, oldest record first, as a file that can be verified offline.",
      tag,
      produces: jsonLines,
      async handle(call) {
        requireAuditor(call.caller);
        return sendLines(call, linesOf(exportAudit(call, call.caller)));
      },
    }),
    route({
      method: "GET",
      path: "/v1/audit/verify",
      operationId: "verifyAudit",
      scope: "audit:read",
      summary: "Check the hash chain of the audit log; names the first record that is wrong.",
      tag,
      response: AuditVerification,
      async handle(call) {
        const verdict = await verifyAudit(call, call.caller);
        const none = { size: null, head_hash: null, index: null, reason: null };
        return { object: "audit_verification", ...none, ...verdict };
      },
    }),
  ];
}
