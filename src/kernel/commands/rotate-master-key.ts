/**
 * Another master key, and every vault's data key wrapped with it. The older key is forgotten only when nothing needs it any
 * more: a process that dies in between finds both at its next start, and goes on from there.
 */

import { systemCaller } from "../../policy/caller.ts";
import type { Store } from "../../store/port.ts";
import { type Command, carryOut } from "../dispatch.ts";
import { HarnessError } from "../errors.ts";
import type { VaultRecord } from "../resources/vault.ts";
import type { KernelDeps } from "../unit.ts";
import { currentMasterKey, openDataKey, wrapFor, wrappingLock } from "../vaults.ts";
import { defaultTenantId } from "./ensure-tenant.ts";

export interface MasterKeyRotation {
  masterKeyId: string;
  rewrapped: number;
  /** Vaults whose master key is not here: nothing could be done about them. */
  locked: string[];
}

const pageSize = 100;
/** Locked vaults that are named; there is one reason for all of them. */
const lockedMax = 100;

export const rotateMasterKey: Command<Record<string, never>, MasterKeyRotation> = {
  name: "rotate_master_key",
  scope: "admin",
  async decide(unit) {
    const { deps, caller } = unit;
    if (caller.tenantId !== defaultTenantId || caller.workspaceIds !== null) {
      throw new HarnessError("permission_denied", "The master key is the server's: its own tenant turns it.");
    }
    await unit.hold(wrappingLock);
    const { masterKeys } = deps;
    currentMasterKey(deps);
    if (!masterKeys.isFixed) masterKeys.turn();
    const rotation = await rewrapAll(deps);
    if (masterKeys.isFixed && rotation.rewrapped === 0) throw onlyTheOperatorCan();
    return rotation;
  },
};

function onlyTheOperatorCan(): HarnessError {
  return new HarnessError(
    "conflict",
    "The master key is the one in BRIDLE_MASTER_KEY and everything is wrapped with it. To change it, start the server with the new key there and the old one in BRIDLE_MASTER_KEY_PREVIOUS, then rotate.",
  );
}

/** At start: a rotation that was interrupted is carried to its end. Gives the vaults that cannot be opened. */
export async function settleMasterKey(deps: KernelDeps): Promise<string[]> {
  const { masterKeys } = deps;
  if (masterKeys.isTurning && !masterKeys.isFixed) return (await rewrapAll(deps)).locked;
  const locked: string[] = [];
  for await (const { id, data_key } of everyVault(deps.store)) {
    if (masterKeys.find(data_key.kid) === undefined && locked.length < lockedMax) locked.push(id);
  }
  return locked;
}

async function rewrapAll(deps: KernelDeps): Promise<MasterKeyRotation> {
  const { masterKeys, store } = deps;
  const masterKeyId = currentMasterKey(deps).kid;
  const rotation: MasterKeyRotation = { masterKeyId, rewrapped: 0, locked: [] };
  for await (const { id, tenant_id, data_key } of everyVault(store)) {
    if (data_key.kid === masterKeyId) continue;
    if (masterKeys.find(data_key.kid) !== undefined) {
      await carryOut(deps, rewrapVault, systemCaller(tenant_id), { vaultId: id });
      rotation.rewrapped += 1;
    } else if (rotation.locked.length < lockedMax) rotation.locked.push(id);
  }
  masterKeys.forgetOlder();
  return rotation;
}

const rewrapVault: Command<{ vaultId: string }, VaultRecord> = {
  name: "rewrap_vault",
  scope: "admin",
  async decide(unit, { vaultId }) {
    const vault = await unit.require("vault", vaultId);
    const dataKey = openDataKey(unit.deps, vault);
    const data_key = wrapFor(unit.deps, vault, dataKey, vault.data_key.version);
    return unit.emit(vault, "vendor.bridle.vault.data_key_rewrapped", { data_key });
  },
};

/** The vaults of all tenants, oldest first. */
async function* everyVault(store: Store): AsyncGenerator<VaultRecord> {
  let beyond: { born: number; id: string } | undefined;
  do {
    const page = await store.list({
      kind: "vault",
      by: { everyTenant: true },
      order: "oldest_first",
      beyond,
      limit: pageSize,
    });
    for (const { body } of page) yield body as VaultRecord;
    beyond = page.length < pageSize ? undefined : page.at(-1);
  } while (beyond !== undefined);
}
