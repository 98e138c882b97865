/** Sessions: create, read, change, close, fork, truncate. */

import { closeSession } from "../../../kernel/commands/close-session.ts";
import { createBranch } from "../../../kernel/commands/create-branch.ts";
import { createSession } from "../../../kernel/commands/create-session.ts";
import { forkSession } from "../../../kernel/commands/fork-session.ts";
import { truncateSession } from "../../../kernel/commands/truncate-session.ts";
import { updateSession } from "../../../kernel/commands/update-session.ts";
import { getRecord, listRecords } from "../../../kernel/queries/read.ts";
import { presentPage } from "../lists.ts";
import { presentRecord, presentSession } from "../present.ts";
import { jsonObject, messageInput } from "../read-input.ts";
import { route } from "../route.ts";
import {
  Branch,
  CreateBranchRequest,
  CreateSessionRequest,
  ForkSessionRequest,
  ListOf,
  PageQuery,
  pageQuery,
  Session,
  TruncateSessionRequest,
  TruncateSessionResponse,
  UpdateSessionRequest,
} from "../schemas.ts";

const tag = "Sessions";

export const sessionRoutes = [
  route({
    method: "GET",
    path: "/v1/sessions",
    operationId: "listSessions",
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
    summary: "Create a session in a workspace.",
    tag,
    status: 201,
    body: CreateSessionRequest,
    response: Session,
    async handle(call) {
      const { workspace_id, persona_id, initial_messages, vault_ids, metadata } = call.body;
      const session = await call.dispatch(createSession, {
        workspaceId: workspace_id,
        personaId: persona_id,
        initialMessages: initial_messages?.map(messageInput),
        vaultIds: vault_ids,
        metadata: jsonObject(metadata),
      });
      return presentSession(session, call, call.writtenAt);
    },
  }),
  route({
    method: "GET",
    path: "/v1/sessions/{session_id}",
    operationId: "getSession",
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
    summary: "Change a session's summary or metadata.",
    tag,
    body: UpdateSessionRequest,
    response: Session,
    async handle(call) {
      const { summary, metadata } = call.body;
      const changes = {
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
    summary: "Keep the first turns of a session's transcript and drop the rest.",
    tag,
    body: TruncateSessionRequest,
    response: TruncateSessionResponse,
    async handle(call) {
      const { keep_first, reason } = call.body;
      const sessionId = call.param("session_id");
      const result = await call.dispatch(truncateSession, { sessionId, keepFirst: keep_first, reason });
      return {
        object: "session.truncate_result",
        session_id: sessionId,
        kept_turn_count: result.keptTurnCount,
        removed_turn_count: result.removedTurnCount,
        new_tip_turn_id: result.newTipTurnId,
        session: await presentSession(result.session, call, call.writtenAt),
      };
    },
  }),
  route({
    method: "GET",
    path: "/v1/sessions/{session_id}/branches",
    operationId: "listSessionBranches",
    summary: "List the branches of a session.",
    tag: "Branches",
    query: PageQuery,
    response: ListOf(Branch),
    async handle(call) {
      const { id: sessionId } = await getRecord(call, call.caller, "session", call.param("session_id"));
      return presentPage(
        await listRecords(call, call.caller, "branch", { sessionId, ...call.query }),
        presentRecord,
      );
    },
  }),
  route({
    method: "POST",
    path: "/v1/sessions/{session_id}/branches",
    operationId: "createSessionBranch",
    summary: "Mark an alternate path of a session.",
    tag: "Branches",
    status: 201,
    body: CreateBranchRequest,
    response: Branch,
    async handle(call) {
      const { kind, base_ref, parent_branch_id, task_id, metadata } = call.body;
      const branch = await call.dispatch(createBranch, {
        sessionId: call.param("session_id"),
        kind,
        baseRef: base_ref,
        parentBranchId: parent_branch_id,
        taskId: task_id,
        metadata: jsonObject(metadata),
      });
      return presentRecord(branch);
    },
  }),
  route({
    method: "GET",
    path: "/v1/branches/{branch_id}",
    operationId: "getBranch",
    summary: "Read a branch.",
    tag: "Branches",
    response: Branch,
    async handle(call) {
      return presentRecord(await getRecord(call, call.caller, "branch", call.param("branch_id")));
    },
  }),
];
