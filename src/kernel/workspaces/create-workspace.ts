/** Create a workspace, with the branch that is its main path. */

import { isBound } from "../../policy/caller.ts";
import type { JsonObject } from "../../store/port.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";

import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { BranchRecord } from "../kinds/branch.ts";
import type { WorkspaceRecord } from "../kinds/workspace.ts";

export interface CreateWorkspace {
  name: string;
  root: string;
  metadata?: JsonObject | undefined;
}

export const createWorkspace: Command<CreateWorkspace, WorkspaceRecord> = {
  name: "create_workspace",
  scope: "workspaces:write",
  audit: (_, workspace) => audited("workspace.create", workspace, { name: workspace.name }),
  decide(unit, request) {
    if (isBound(unit.caller)) {
      throw new HarnessError(
        "permission_denied",
        "A key that is bound to workspaces, agents or personas cannot make workspaces.",
      );
    }
    return emitWorkspace(unit, request);
  },
};

/** `id` is given only for the default workspace, which has a name that people can type. */
export function emitWorkspace(unit: Unit, request: CreateWorkspace, id?: string): WorkspaceRecord {
  const envelope = unit.envelope("workspace", "workspace");
  const workspaceId = id ?? envelope.id;
  const branch: BranchRecord = {
    ...unit.envelope("branch", "branch"),
    metadata: {},
    workspace_id: workspaceId,
    kind: "workspace",
    base_ref: "main",
    parent_branch_id: null,
    session_id: null,
    task_id: null,
    created_by: unit.caller.actor,
    merged_into: null,
  };
  const workspace: WorkspaceRecord = {
    ...envelope,
    id: workspaceId,
    metadata: request.metadata ?? {},
    name: request.name,
    root: request.root,
    default_branch_id: branch.id,
    capabilities: [],
    quota_id: null,
  };
  const created = unit.emit(workspace, "vendor.bridle.workspace.created", { workspace });
  unit.emit(branch, "branch.created", { branch });
  return created;
}
