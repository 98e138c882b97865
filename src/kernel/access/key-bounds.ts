/** What a new key is bound to: what was asked for, if it exists and is no wider than what the caller is bound to. */

import { normalizedRange } from "../../policy/address-ranges.ts";
import { type Caller, systemCaller } from "../../policy/caller.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import type { Kind } from "../core/fold.ts";
import { findVisible } from "../core/read.ts";
import type { Unit } from "../core/unit.ts";
import { type KeyBounds, widerBound } from "./authorize.ts";

type Asked = readonly string[] | null | undefined;

/** Null and absent mean everything. */
export interface AskedBounds {
  workspaceIds?: Asked;
  agentNames?: Asked;
  personaIds?: Asked;
  allowedCidrs?: Asked;
}

export function boundsFor(unit: Unit, tenantId: string, asked: AskedBounds): KeyBounds {
  if (tenantId === unit.caller.tenantId) prefetchNamed(unit, asked);
  for (const id of asked.workspaceIds ?? []) requireIn(unit, tenantId, "workspace", id);
  for (const id of asked.personaIds ?? []) requireIn(unit, tenantId, "persona", id);
  for (const name of asked.agentNames ?? []) {
    if (unit.deps.agents.find(name) === undefined) throw notFound("agent", name);
  }
  const bounds: KeyBounds = {
    workspace_ids: asked.workspaceIds?.slice() ?? null,
    agent_names: asked.agentNames?.slice() ?? null,
    persona_ids: asked.personaIds?.slice() ?? null,
    allowed_cidrs: asked.allowedCidrs?.map(rangeOf) ?? null,
  };
  assertNarrower(unit.caller, bounds);
  return bounds;
}

function prefetchNamed(unit: Unit, { workspaceIds, personaIds }: AskedBounds): void {
  const keysOf = (kind: Kind, ids: Asked) => (ids ?? []).map((id) => ({ kind, id }));
  unit.prefetch([...keysOf("workspace", workspaceIds), ...keysOf("persona", personaIds)]);
}

/** Nobody lets somebody in where they cannot go themselves. */
export function assertNarrower(caller: Caller, bounds: KeyBounds): void {
  const param = widerBound(caller, bounds);
  if (param === null) return;
  throw new HarnessError(
    "permission_denied",
    `This key is bound to ${boundNames[param]}, so it can only give out keys that are bound to some of the same: set ${param}.`,
    { param },
  );
}

const boundNames: Record<keyof KeyBounds, string> = {
  workspace_ids: "workspaces",
  agent_names: "agents",
  persona_ids: "personas",
  allowed_cidrs: "addresses",
};

function rangeOf(text: string): string {
  const range = normalizedRange(text);
  if (range !== null) return range;
  throw new HarnessError(
    "invalid_request",
    `${JSON.stringify(text)} is not an IP address or a range such as 10.0.0.0/8 or 2001:db8::/32.`,
    { param: "allowed_cidrs" },
  );
}

/** Something of the tenant that the key is for. */
function requireIn(unit: Unit, tenantId: string, kind: "workspace" | "persona", id: string): void {
  const own = tenantId === unit.caller.tenantId;
  const record = own
    ? unit.find(kind, id)
    : unit.awaited(`${kind} ${id}`, () => findVisible(unit.deps.store, systemCaller(tenantId), kind, id));
  if (record === undefined) throw notFound(kind, id);
}
