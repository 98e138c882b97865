/** Change a workspace's name, capabilities, quota or metadata. */

import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import type { WorkspaceChanges, WorkspaceRecord } from "../kinds/workspace.ts";
import { requireQuotaFor } from "../quotas/applicable.ts";

export const updateWorkspace: Command<{ workspaceId: string; changes: WorkspaceChanges }, WorkspaceRecord> = {
  name: "update_workspace",
  scope: "workspaces:write",
  audit: ({ changes }, workspace) =>
    audited("workspace.update", workspace, { changed: Object.keys(changes) }),
  decide(unit, { workspaceId, changes }) {
    const workspace = unit.require("workspace", workspaceId);
    if (Object.keys(changes).length === 0) return workspace;
    if (changes.quota_id != null) requireQuotaFor(unit, changes.quota_id, "workspace");
    return unit.emit(workspace, "vendor.bridle.workspace.updated", { changes });
  },
};
