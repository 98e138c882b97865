/** The connector, acting for itself inside its workspace. */

import type { Caller } from "../../policy/caller.ts";
import type { ConnectorRecord } from "../kinds/connector.ts";

const scopes = ["connectors:write", "sessions:write", "messages:write", "tasks:write"] as const;

export function connectorCaller({
  id,
  tenant_id,
  workspace_id,
}: Pick<ConnectorRecord, "id" | "tenant_id" | "workspace_id">): Caller {
  return { actor: id, tenantId: tenant_id, workspaceIds: [workspace_id], scopes: new Set(scopes) };
}
