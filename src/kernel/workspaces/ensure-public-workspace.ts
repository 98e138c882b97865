/** At start: where the work of those goes who use a public agent without credentials. It is made once and then kept. */

import type { Command } from "../core/dispatch.ts";
import type { WorkspaceRecord } from "../kinds/workspace.ts";
import { emitWorkspace } from "./emit-workspace.ts";
import { nameIn } from "./ensure-tenant.ts";

export function publicWorkspaceId(tenantId: string): string {
  return nameIn(tenantId, "workspace_public");
}

/** In the caller's tenant. */
export const ensurePublicWorkspace: Command<Record<string, never>, WorkspaceRecord> = {
  name: "ensure_public_workspace",
  scope: "admin",
  isAllowedWithoutRoom: true,
  decide(unit) {
    const id = publicWorkspaceId(unit.caller.tenantId);
    return unit.find("workspace", id) ?? emitWorkspace(unit, { name: "Public", root: "." }, id);
  },
};
