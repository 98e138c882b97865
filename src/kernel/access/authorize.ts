/** The kernel's questions to policy, with the protocol's refusals as answers. */

import { isRangeWithin } from "../../policy/address-ranges.ts";
import { type Caller, isBound, mayReach, maySee, mayUse, type Scope } from "../../policy/caller.ts";
import { HarnessError } from "../core/errors.ts";
import { type AnyRecord, workspaceOf } from "../core/fold.ts";
import type { ApiKeyRecord } from "../kinds/api-key.ts";

export function requireScope(caller: Caller, scope: Scope): void {
  if (mayUse(caller, scope)) return;
  throw new HarnessError("permission_denied", `This needs the scope ${scope}.`, {
    details: { required_scope: scope },
  });
}

/** What a caller may see: of its tenant and its workspaces, and of the agents and personas that it is bound to. */
export function isVisible(caller: Caller, record: AnyRecord): boolean {
  if (!maySee(caller, record.tenant_id, workspaceOf(record))) return false;
  switch (record.object) {
    case "api_key":
      // A key that opens more than the caller may see is not the caller's to look at or to revoke.
      return widerBound(caller, record) === null;
    case "persona":
      return mayReach(caller, record.id, record.entry_workflow);
    case "task":
      return mayReach(caller, record.persona_id, record.agent.name);
    default:
      return true;
  }
}

export type KeyBounds = Pick<ApiKeyRecord, "workspace_ids" | "agent_names" | "persona_ids" | "allowed_cidrs">;

/** The first bound of a key that lets in more than the caller's own does; null when none does. */
export function widerBound(caller: Caller, bounds: KeyBounds): keyof KeyBounds | null {
  if (!isWithin(bounds.workspace_ids, caller.workspaceIds)) return "workspace_ids";
  if (!isWithin(bounds.agent_names, caller.agentNames)) return "agent_names";
  if (!isWithin(bounds.persona_ids, caller.personaIds)) return "persona_ids";
  const { allowedCidrs } = caller;
  const isInside =
    allowedCidrs === undefined ||
    (bounds.allowed_cidrs?.every((range) => isRangeWithin(range, allowedCidrs)) ?? false);
  return isInside ? null : "allowed_cidrs";
}

/** Whether all of a list is in another, where no list means everything. */
function isWithin(
  inner: readonly string[] | null | undefined,
  outer: readonly string[] | null | undefined,
): boolean {
  return outer == null || (inner?.every((item) => outer.includes(item)) ?? false);
}

/** A key that is bound to workspaces, agents or personas cannot write what is for the whole tenant. */
export function requireWholeTenant(caller: Caller, param: string): void {
  if (!isBound(caller)) return;
  throw new HarnessError(
    "permission_denied",
    "This key is bound to workspaces, agents or personas and cannot write what is for the whole tenant.",
    { param },
  );
}
