/** Create a workspace. */

import { isBound } from "../../policy/caller.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";

import { HarnessError } from "../core/errors.ts";
import type { WorkspaceRecord } from "../kinds/workspace.ts";
import { requireQuotaFor } from "../quotas/applicable.ts";
import { emitWorkspace, type NewWorkspace } from "./emit-workspace.ts";

export const createWorkspace: Command<NewWorkspace, WorkspaceRecord> = {
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
    if (request.quotaId != null) requireQuotaFor(unit, request.quotaId, "workspace");
    return emitWorkspace(unit, request);
  },
};
