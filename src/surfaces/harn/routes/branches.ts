/** Branches: mark an alternate path, say where it is, merge it or give it up. */

import { getRecord, listRecords } from "../../../kernel/core/read.ts";
import { abandonBranch } from "../../../kernel/sessions/abandon-branch.ts";
import { createBranch } from "../../../kernel/sessions/create-branch.ts";
import { mergeBranch } from "../../../kernel/sessions/merge-branch.ts";
import { updateBranch } from "../../../kernel/sessions/update-branch.ts";
import { presentPage } from "../lists.ts";
import { presentBranch } from "../present.ts";
import { jsonObject } from "../read-input.ts";
import { route } from "../route.ts";
import { ListOf, PageQuery } from "../schemas.ts";
import { AbandonBranchRequest, MergeBranchRequest, UpdateBranchRequest } from "../schemas-knowledge.ts";
import { Branch, CreateBranchRequest } from "../schemas-session.ts";

const tag = "Branches";

export const branchRoutes = [
  route({
    method: "GET",
    path: "/v1/sessions/{session_id}/branches",
    operationId: "listSessionBranches",
    scope: "branches:read",
    summary: "List the branches of a session.",
    tag,
    query: PageQuery,
    response: ListOf(Branch),
    async handle(call) {
      const { id: sessionId } = await getRecord(call, call.caller, "session", call.param("session_id"));
      return presentPage(
        await listRecords(call, call.caller, "branch", { sessionId, ...call.query }),
        presentBranch,
      );
    },
  }),
  route({
    method: "POST",
    path: "/v1/sessions/{session_id}/branches",
    operationId: "createSessionBranch",
    scope: "branches:write",
    summary: "Mark an alternate path of a session.",
    tag,
    status: 201,
    body: CreateBranchRequest,
    response: Branch,
    async handle(call) {
      const { kind, base_ref, parent_branch_id, task_id, worktree_uri, metadata } = call.body;
      const branch = await call.dispatch(createBranch, {
        sessionId: call.param("session_id"),
        kind,
        baseRef: base_ref,
        parentBranchId: parent_branch_id,
        taskId: task_id,
        worktreeUri: worktree_uri,
        metadata: jsonObject(metadata),
      });
      return presentBranch(branch);
    },
  }),
  route({
    method: "GET",
    path: "/v1/branches/{branch_id}",
    operationId: "getBranch",
    scope: "branches:read",
    summary: "Read a branch.",
    tag,
    response: Branch,
    async handle(call) {
      return presentBranch(await getRecord(call, call.caller, "branch", call.param("branch_id")));
    },
  }),
  route({
    method: "PATCH",
    path: "/v1/branches/{branch_id}",
    operationId: "updateBranch",
    scope: "branches:write",
    summary: "Change a branch's working copy or metadata.",
    tag,
    body: UpdateBranchRequest,
    response: Branch,
    async handle(call) {
      const { worktree_uri, metadata } = call.body;
      const changes = {
        ...(worktree_uri === undefined ? {} : { worktree_uri }),
        ...(metadata === undefined ? {} : { metadata: jsonObject(metadata) ?? {} }),
      };
      return presentBranch(await call.dispatch(updateBranch, { branchId: call.param("branch_id"), changes }));
    },
  }),
  route({
    method: "POST",
    path: "/v1/branches/{branch_id}/merge",
    operationId: "mergeBranch",
    scope: "branches:write",
    summary: "Merge a branch into another one of its workspace. No message is copied.",
    tag,
    body: MergeBranchRequest,
    response: Branch,
    async handle(call) {
      const { into_branch_id: intoBranchId } = call.body;
      const branchId = call.param("branch_id");
      return presentBranch(await call.dispatch(mergeBranch, { branchId, intoBranchId }));
    },
  }),
  route({
    method: "POST",
    path: "/v1/branches/{branch_id}/abandon",
    operationId: "abandonBranch",
    scope: "branches:write",
    summary: "Give a branch up.",
    tag,
    body: AbandonBranchRequest,
    bodyOptional: true,
    response: Branch,
    async handle(call) {
      const { reason } = call.body;
      return presentBranch(await call.dispatch(abandonBranch, { branchId: call.param("branch_id"), reason }));
    },
  }),
];
