/** What a new workspace is: its record, and the branch that is its main path. */

import type { JsonObject } from "../../store/port.ts";
import type { Unit } from "../core/unit.ts";
import type { BranchRecord } from "../kinds/branch.ts";
import type { WorkspaceRecord } from "../kinds/workspace.ts";

export interface NewWorkspace {
  name: string;
  root: string;
  /** What its tasks may do with it (`files:read`, `files:write`, capabilities of hosts); everything when there are none. */
  capabilities?: string[] | undefined;
  quotaId?: string | null | undefined;
  metadata?: JsonObject | undefined;
}

/** `id` is given only for the default workspace, which has a name that people can type. */
export function emitWorkspace(unit: Unit, request: NewWorkspace, id?: string): WorkspaceRecord {
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
    capabilities: request.capabilities ?? [],
    quota_id: request.quotaId ?? null,
  };
  const created = unit.emit(workspace, "vendor.bridle.workspace.created", { workspace });
  unit.emit(branch, "branch.created", { branch });
  return created;
}
