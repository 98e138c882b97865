/**
 * Take over the log of a session from another server: its events as they were, under their own ids, so that what is
 * computed from them is the same here as there. All of it or nothing.
 */

import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import type { SessionRecord } from "../kinds/session.ts";
import { emitWorkspace } from "../workspaces/emit-workspace.ts";
import { nameIn } from "../workspaces/ensure-tenant.ts";
import { adoptedFrom } from "./transfer/adopted.ts";
import type { LogBundle } from "./transfer/bundle.ts";
import { inUse, refused } from "./transfer/refused.ts";
import { assertSound } from "./transfer/sound.ts";

export const importSession: Command<{ bundle: LogBundle }, SessionRecord> = {
  name: "import_session",
  scope: "admin",
  audit: ({ bundle }, session) => audited("session.import", session, { events: bundle.events.length }),
  // An id that is in use, by whomever, stays so.
  triesMax: 3,
  gaveUp: "Something in this file has an id that is in use already.",
  decide(unit, { bundle }) {
    const { tenant_id, session_id, task_id, workspace } = bundle.header;
    if (task_id !== null) throw refused("It is the log of one task; a session's log is needed.");
    if (tenant_id !== unit.caller.tenantId) {
      throw refused(`It is of the tenant ${tenant_id}; import it with a key of a tenant of that name.`);
    }
    if (unit.find("session", session_id) !== undefined) {
      throw new HarnessError("conflict", `Session ${session_id} is here already.`, {
        details: { session_id },
      });
    }
    const { deps, caller } = unit;
    unit.awaited("sound", () => assertSound(deps, bundle));
    if (unit.find("workspace", workspace.id) === undefined) {
      // A key bound to workspaces can neither make this one nor learn that it is there.
      if (caller.workspaceIds !== null) throw notFound("workspace", workspace.id);
      assertOwnWorkspaceId(caller.tenantId, workspace.id);
      if (unit.findAsSystem("workspace", workspace.id) !== undefined) throw inUse("workspace", workspace.id);
      emitWorkspace(unit, { name: workspace.name, root: workspace.root }, workspace.id);
    }
    for (const blob of bundle.blobs) unit.keepBlob(blob);
    const { session, ...adopted } = unit.awaited("adopted", () => adoptedFrom(unit, bundle));
    unit.adopt(adopted);
    return session;
  },
};

/** A workspace is named by chance, or after the tenant. */
function assertOwnWorkspaceId(tenantId: string, id: string): void {
  if (/^workspace_[0-9A-Z]{26}$/.test(id) || id === nameIn(tenantId, "workspace_default")) return;
  throw refused(`${id} is not an id that a workspace of this tenant can have.`);
}
