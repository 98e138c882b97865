/** Sessions: create, read, change, close, fork, truncate. */

import { getRecord, listRecords } from "../../../kernel/core/read.ts";
import { closeSession } from "../../../kernel/sessions/close-session.ts";
import { createSession } from "../../../kernel/sessions/create-session.ts";
import { forkSession } from "../../../kernel/sessions/fork-session.ts";
import { truncateSession } from "../../../kernel/sessions/truncate-session.ts";
import { updateSession } from "../../../kernel/sessions/update-session.ts";
import { presentPage } from "../lists.ts";
import { presentSession, presentTruncation } from "../present.ts";
import { jsonObject, messageInput } from "../read-input.ts";
import { route } from "../route.ts";
import { ListOf, pageQuery } from "../schemas.ts";
import {
  CreateSessionRequest,
  ForkSessionRequest,
  Session,
  TruncateSessionRequest,
  TruncateSessionResponse,
  UpdateSessionRequest,
} from "../schemas-session.ts";

const tag = "Sessions";

export const sessionRoutes = [
  route({
    method: "GET",
    path: "/v1/sessions",
    operationId: "listSessions",
    scope: "sessions:read",
    summary: "List sessions, newest first.",
    tag,
    query: pageQuery("workspace_id"),
    response: ListOf(Session),
    async handle(call) {
      const { workspace_id, cursor, limit } = call.query;
      const page = await listRecords(call, call.caller, "session", {
        workspaceId: workspace_id,
        cursor,
        limit,
      });
      return presentPage(page, (session) => presentSession(session, call));
    },
  }),
  route({
    method: "POST",
    path: "/v1/sessions",
    operationId: "createSession",
    scope: "sessions:write",
    summary: "Create a session in a workspace.",
    tag,
    status: 201,
    body: CreateSessionRequest,
    response: Session,
    async handle(call) {
      const { workspace_id, persona_id, vault_ids, memory_ids, skill_ids, initial_messages, ...others } =
        call.body;
      const session = await call.dispatch(createSession, {
        workspaceId: workspace_id,
        personaId: persona_id,
        memoryIds: memory_ids,
        skillIds: skill_ids,
        initialMessages: initial_messages?.map(messageInput),
        vaultIds: vault_ids,
        expiresAt: others.expires_at,
        metadata: jsonObject(others.metadata),
      });
      return presentSession(session, call, call.writtenAt);
    },
  }),
  route({
    method: "GET",
    path: "/v1/sessions/{session_id}",
    operationId: "getSession",
    scope: "sessions:read",
    summary: "Read a session.",
    tag,
    response: Session,
    async handle(call) {
      return presentSession(await getRecord(call, call.caller, "session", call.param("session_id")), call);
    },
  }),
  route({
    method: "PATCH",
    path: "/v1/sessions/{session_id}",
    operationId: "updateSession",
    scope: "sessions:write",
    summary: "Change a session: its summary, metadata and expiry, or pause and resume it.",
    tag,
    body: UpdateSessionRequest,
    response: Session,
    async handle(call) {
      const { state, expires_at, summary, metadata } = call.body;
      const changes = {
        ...(state === undefined ? {} : { state }),
        ...(expires_at === undefined ? {} : { expires_at }),
        ...(summary === undefined ? {} : { summary }),
        ...(metadata === undefined ? {} : { metadata: jsonObject(metadata) ?? {} }),
      };
      const session = await call.dispatch(updateSession, { sessionId: call.param("session_id"), changes });
      return presentSession(session, call, call.writtenAt);
    },
  }),
  route({
    method: "POST",
    path: "/v1/sessions/{session_id}/close",
    operationId: "closeSession",
    scope: "sessions:write",
    summary: "Close a session; tasks that still run in it are canceled.",
    tag,
    response: Session,
    async handle(call) {
      const session = await call.dispatch(closeSession, { sessionId: call.param("session_id") });
      return presentSession(session, call, call.writtenAt);
    },
  }),
  route({
    method: "POST",
    path: "/v1/sessions/{session_id}/fork",
    operationId: "forkSession",
    scope: "sessions:write",
    summary: "Fork a session's transcript, up to an event, into a new session.",
    tag,
    status: 201,
    body: ForkSessionRequest,
    bodyOptional: true,
    response: Session,
    async handle(call) {
      const { at_event_id, branch_id, metadata } = call.body;
      const session = await call.dispatch(forkSession, {
        sessionId: call.param("session_id"),
        atEventId: at_event_id,
        branchId: branch_id,
        metadata: jsonObject(metadata),
      });
      return presentSession(session, call, call.writtenAt);
    },
  }),
  route({
    method: "POST",
    path: "/v1/sessions/{session_id}/truncate",
    operationId: "truncateSession",
    scope: "sessions:write",
    summary: "Keep the first turns of a session's transcript and drop the rest.",
    tag,
    body: TruncateSessionRequest,
    response: TruncateSessionResponse,
    async handle(call) {
      const { keep_first, reason } = call.body;
      const sessionId = call.param("session_id");
      const result = await call.dispatch(truncateSession, { sessionId, keepFirst: keep_first, reason });
      return await presentTruncation(result, call, call.writtenAt);
    },
  }),
];
