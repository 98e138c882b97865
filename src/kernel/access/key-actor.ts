/**
 * Whom a new key may stand for. The actor is who the log, receipts and the rules of approvals say did something, so without
 * `admin` nobody makes a key in the name of somebody else.
 */

import { foldedActor, whyNoActor } from "../../policy/actor.ts";
import { harpIdentities, type Scope } from "../../policy/caller.ts";
import type { TenantStore } from "../../store/port.ts";
import { findRegistry } from "../approvals/registry.ts";
import { HarnessError } from "../core/errors.ts";
import { paginate } from "../core/paginate.ts";
import type { Unit } from "../core/unit.ts";
import type { ApiKeyRecord } from "../kinds/api-key.ts";
import { descendantsOf } from "./made-by-key.ts";

export function assertMayName(unit: Unit, actor: string): void {
  assertNotReserved(actor);
  if (unit.caller.scopes.has("admin") || actor === unit.caller.actor) return;
  // Two that take the same new name at once are one after the other.
  unit.hold(`actors:${unit.caller.tenantId}`);
  if (!isTaken(unit, actor)) return;
  throw new HarnessError(
    "permission_denied",
    `${JSON.stringify(actor)} is the name of somebody else. Without the scope admin, set actor to your own (${JSON.stringify(unit.caller.actor)}), to that of a key that yours made, or to a new name.`,
    { param: "actor", details: { required_scope: "admin" } },
  );
}

function assertNotReserved(actor: string): void {
  const problem = whyNoActor(actor);
  if (problem === null) return;
  const message =
    problem === "invisible"
      ? "actor contains control or invisible characters."
      : `${JSON.stringify(actor)} is a name of the server itself.`;
  throw new HarnessError("invalid_request", message, { param: "actor" });
}

/** Names of ended keys stay taken: the log still has what was done under them. */
function isTaken(unit: Unit, actor: string): boolean {
  const name = foldedActor(actor);
  const { caller } = unit;
  const isName = (other: string) => foldedActor(other) === name;
  if (isName(caller.actor) || unit.findAsSystem("persona", actor) !== undefined) return true;
  const ownNames = new Set(approversOf(caller.scopes));
  const approvers = findRegistry(unit)?.keys ?? [];
  if (approvers.some(({ approverId }) => isName(approverId) && !ownNames.has(approverId))) return true;
  return unit.awaited("name", () => isNameOfKey(unit.own, caller.keyId, isName));
}

/** Of a key that is not the caller's own, nor made by it. */
async function isNameOfKey(
  own: TenantStore,
  keyId: string | undefined,
  isName: (name: string) => boolean,
): Promise<boolean> {
  const ownKeys = await ownKeyIds(own, keyId);
  for await (const page of paginate(own, { kind: "api_key" })) {
    const others = page.map(({ body }) => body as ApiKeyRecord).filter(({ id }) => !ownKeys.has(id));
    if (others.some((key) => isName(key.actor) || approversOf(key.scopes).some(isName))) return true;
  }
  return false;
}

async function ownKeyIds(own: TenantStore, keyId: string | undefined): Promise<ReadonlySet<string>> {
  if (keyId === undefined) return new Set();
  return new Set([keyId, ...(await descendantsOf(own, keyId)).map(({ id }) => id)]);
}

function approversOf(scopes: Iterable<Scope>): string[] {
  return harpIdentities({ scopes })
    .filter(({ role }) => role === "approver")
    .map(({ id }) => id);
}
