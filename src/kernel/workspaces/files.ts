/** The files of a workspace, as the kernel asks for them: with the protocol's refusals. */

import { FileRefused } from "../../files/safe-path.ts";
import type { WorkspacePlace } from "../../files/workspace-files.ts";
import { type ErrorCode, HarnessError } from "../core/errors.ts";
import type { WorkspaceRecord } from "../kinds/workspace.ts";
import { defaultTenantId } from "./ensure-tenant.ts";

const codes: Record<FileRefused["why"], ErrorCode> = {
  path: "invalid_request",
  kind: "invalid_request",
  text: "invalid_request",
  absent: "resource_not_found",
  size: "payload_too_large",
  disk: "service_unavailable",
};

/** `root` is what a caller said; only what the operator allows makes a path of it, and for the server's own tenant only. */
export function placeOf({ id, root, tenant_id }: WorkspaceRecord): WorkspacePlace {
  return { id, tenantId: tenant_id, root, mayUseRoots: tenant_id === defaultTenantId };
}

/** A workspace that lists what it can do can do nothing else; one that lists nothing can do everything. */
export function requireFiles({ id, capabilities }: WorkspaceRecord, what: "read" | "write"): void {
  const needed = `files:${what}`;
  if (capabilities.length === 0 || [needed, "files:*", "*"].some((name) => capabilities.includes(name)))
    return;
  throw new HarnessError("policy_violation", `Workspace ${id} does not have the capability ${needed}.`, {
    details: { rule: "workspace_capabilities", workspace_id: id, capability: needed },
  });
}

export async function asRefusal<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof FileRefused)) throw error;
    if (error.why === "disk") throw new HarnessError(codes.disk, error.message, {}, { cause: error });
    const param = error.why === "text" || error.why === "size" ? "content" : "path";
    throw new HarnessError(codes[error.why], error.message, { param });
  }
}
