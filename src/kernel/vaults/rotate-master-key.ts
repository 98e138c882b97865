/**
 * Another master key, and every data key, of vaults, connectors and webhooks, wrapped with it. The older key is forgotten only when nothing needs it any
 * more: a process that dies in between finds both at its next start, and goes on from there.
 */

import { isBound } from "../../policy/caller.ts";
import { audited, recordAudit } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import { defaultTenantId } from "../workspaces/ensure-tenant.ts";
import type { MasterKeyRotation } from "./rewrap.ts";
import { currentMasterKey, wrappingLock } from "./vaults.ts";

export const rotateMasterKey: Command<Record<string, never>, MasterKeyRotation> = {
  name: "rotate_master_key",
  scope: "admin",
  isAllowedWithoutRoom: true,
  decide(unit) {
    const { deps, caller } = unit;
    if (caller.tenantId !== defaultTenantId || isBound(caller)) {
      throw new HarnessError("permission_denied", "The master key is the server's: its own tenant turns it.");
    }
    unit.hold(wrappingLock);
    const { masterKeys } = deps;
    currentMasterKey(deps);
    const rotation = unit.awaited("rotation", async () => {
      if (!masterKeys.isFixed) masterKeys.turn();
      return await deps.operations.rewrapDataKeys();
    });
    if (masterKeys.isFixed && rotation.rewrapped === 0) throw onlyTheOperatorCan();
    const key = { object: "master_key", id: rotation.masterKeyId };
    recordAudit(unit, audited("master_key.rotate", key, { rewrapped: rotation.rewrapped }));
    return rotation;
  },
};

function onlyTheOperatorCan(): HarnessError {
  return new HarnessError(
    "conflict",
    "The master key is the one in BRIDLE_MASTER_KEY and everything is wrapped with it. To change it, start the server with the new key there and the old one in BRIDLE_MASTER_KEY_PREVIOUS, then rotate.",
  );
}
