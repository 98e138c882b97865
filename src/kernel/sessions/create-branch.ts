/** Mark an alternate path: of a session, of one of its tasks, of its workspace, or of a sandbox. */

import type { JsonObject } from "../../store/port.ts";
import type { Command } from "../core/dispatch.ts";
import type { BranchKind, BranchRecord } from "../kinds/branch.ts";

export interface CreateBranch {
  sessionId: string;
  kind: BranchKind;
  baseRef: string;
  parentBranchId?: string | null | undefined;
  taskId?: string | null | undefined;
  worktreeUri?: string | null | undefined;
  metadata?: JsonObject | undefined;
}

export const createBranch: Command<CreateBranch, BranchRecord> = {
  name: "create_branch",
  scope: "branches:write",
  decide(unit, request) {
    const session = unit.require("session", request.sessionId);
    if (request.parentBranchId != null) unit.require("branch", request.parentBranchId);
    if (request.taskId != null) unit.require("task", request.taskId);
    const branch: BranchRecord = {
      ...unit.envelope("branch", "branch"),
      metadata: request.metadata ?? {},
      workspace_id: session.workspace_id,
      kind: request.kind,
      base_ref: request.baseRef,
      parent_branch_id: request.parentBranchId ?? session.branch_id,
      session_id: session.id,
      task_id: request.taskId ?? null,
      worktree_uri: request.worktreeUri ?? null,
      created_by: unit.caller.actor,
      merged_into: null,
    };
    return unit.emit(branch, "branch.created", { branch });
  },
};
