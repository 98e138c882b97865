/** The kernel's questions to policy, with the protocol's refusals as answers. */

import { type Caller, maySee, mayUse, type Scope } from "../policy/caller.ts";
import { HarnessError } from "./errors.ts";
import { type AnyRecord, workspaceOf } from "./fold.ts";

export function requireScope(caller: Caller, scope: Scope): void {
  if (mayUse(caller, scope)) return;
  throw new HarnessError("permission_denied", `This needs the scope ${scope}.`, {
    details: { required_scope: scope },
  });
}

/** A key that opens more than the caller may see is not the caller's to look at or to revoke. */
export function isVisible(caller: Caller, record: AnyRecord): boolean {
  if (record.object !== "api_key" || caller.workspaceIds === null) {
    return maySee(caller, record.tenant_id, workspaceOf(record));
  }
  const { tenant_id, workspace_ids } = record;
  return workspace_ids?.every((workspaceId) => maySee(caller, tenant_id, workspaceId)) ?? false;
}

/** What is known in the whole tenant is not for a key to write that is bound to some of its workspaces. */
export function requireWholeTenant(caller: Caller, param: string): void {
  if (caller.workspaceIds === null) return;
  throw new HarnessError(
    "permission_denied",
    "This key is bound to workspaces and cannot write what is for the whole tenant.",
    { param },
  );
}
