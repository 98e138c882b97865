/** What becomes of old content: it is folded away, erased, or leaves by age. */

import { getRecord } from "../../../kernel/core/read.ts";
import { eraseSession } from "../../../kernel/retention/erasure/erase-session.ts";
import { compactSession } from "../../../kernel/sessions/compact-session.ts";
import { presentSession } from "../present.ts";
import { route } from "../route.ts";
import {
  CompactSessionRequest,
  CompactSessionResponse,
  EraseRequest,
  SweepReport,
  SweepRequest,
  TenantErasure,
} from "../schemas-retention.ts";
import { Session } from "../schemas-session.ts";

const tag = "Retention";

export const retentionRoutes = [
  route({
    method: "POST",
    path: "/v1/sessions/{session_id}/compact",
    operationId: "compactSession",
    scope: "sessions:write",
    summary: "Fold the older turns of a session away behind a summary. Nothing is deleted.",
    tag,
    body: CompactSessionRequest,
    response: CompactSessionResponse,
    async handle(call) {
      const { keep_last, summary } = call.body;
      const sessionId = call.param("session_id");
      const result = await call.dispatch(compactSession, { sessionId, keepLast: keep_last, summary });
      return {
        object: "session.compact_result",
        session_id: sessionId,
        compacted_turn_count: result.compactedTurnCount,
        kept_turn_count: result.keptTurnCount,
        session: await presentSession(result.session, call, call.writtenAt),
      };
    },
  }),
  route({
    method: "POST",
    path: "/v1/sessions/{session_id}/erase",
    operationId: "eraseSession",
    scope: "admin",
    summary: "Erase the content of a session for good. Descriptors with hashes, and receipts, stay.",
    tag,
    body: EraseRequest,
    bodyOptional: true,
    response: Session,
    async handle(call) {
      const { id } = await call.dispatch(eraseSession, {
        sessionId: call.param("session_id"),
        reason: call.body.reason,
      });
      return presentSession(await getRecord(call, call.caller, "session", id), call);
    },
  }),
  route({
    method: "POST",
    path: "/v1/retention/sweep",
    operationId: "sweepRetention",
    scope: "admin",
    summary: "Delete data older than the server's retention now, or list what would be deleted.",
    tag,
    body: SweepRequest,
    bodyOptional: true,
    response: SweepReport,
    async handle(call) {
      const report = await call.kernel.operations.sweep(call.caller, call.body.dry_run === true);
      return { object: "retention.sweep_report", ...report };
    },
  }),
  route({
    method: "POST",
    path: "/v1/tenants/{tenant_id}/erase",
    operationId: "eraseTenant",
    scope: "admin",
    summary: "Erase the content of all sessions of a tenant, and what it holds outside of them, for good.",
    tag,
    body: EraseRequest,
    bodyOptional: true,
    response: TenantErasure,
    async handle(call) {
      const tenant = await call.kernel.operations.eraseTenant(call.caller, {
        tenantId: call.param("tenant_id"),
        reason: call.body.reason,
      });
      return { object: "tenant.erasure", tenant_id: tenant.id, erasure: tenant.erasure ?? null };
    },
  }),
];
