/** Which scope reads which kind of resource: the resource itself and every event about it, on all surfaces. */

import { type Caller, mayUse, type Scope } from "../../policy/caller.ts";
import type { StoredEvent } from "../../store/port.ts";
import type { Kind } from "../core/fold.ts";

/** Total: a new kind of resource does not compile without the scope that reads it. */
export const readScope: Record<Kind, Scope> = {
  api_key: "api_keys:read",
  approval_audit: "approvers:read",
  approval_nonce: "approvers:read",
  approver_registry: "approvers:read",
  artifact: "artifacts:read",
  audit_log: "audit:read",
  branch: "branches:read",
  connector: "connectors:read",
  handoff: "tasks:read",
  harp_prompt: "tasks:read",
  harp_session: "sessions:read",
  memory: "memories:read",
  message: "messages:read",
  permission_request: "tasks:read",
  persona: "personas:read",
  policy_change: "approvers:read",
  push_config: "tasks:read",
  quota: "quotas:read",
  schedule: "personas:read",
  receipt: "receipts:read",
  receipt_chain: "receipts:read",
  receipt_tree: "receipts:read",
  session: "sessions:read",
  shell_link: "tasks:read",
  signing_key: "receipts:read",
  skill: "skills:read",
  task: "tasks:read",
  tenant: "admin",
  vault: "vaults:read",
  workspace: "workspaces:read",
};

/** Events about a kind that this version does not know are for administrators. */
export function readScopeOf({ resource: { object } }: Pick<StoredEvent, "resource">): Scope {
  return Object.hasOwn(readScope, object) ? readScope[object as Kind] : "admin";
}

export type EventFilter = (event: Pick<StoredEvent, "resource">) => boolean;

/** Which events a caller may read; null when it may read all of them. */
export function readableEvents(caller: Caller): EventFilter | null {
  if (mayUse(caller, "admin")) return null;
  return (event) => mayUse(caller, readScopeOf(event));
}
