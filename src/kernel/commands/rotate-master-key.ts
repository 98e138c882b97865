/**
 * Another master key, and every data key, of vaults, connectors and webhooks, wrapped with it. The older key is forgotten only when nothing needs it any
 * more: a process that dies in between finds both at its next start, and goes on from there.
 */

import { systemCaller } from "../../policy/caller.ts";
import type { WrappedKey } from "../../policy/vault-crypto.ts";
import type { Store } from "../../store/port.ts";
import { type Command, carryOut } from "../dispatch.ts";
import { HarnessError } from "../errors.ts";
import { everyPage } from "../every-page.ts";
import { activePushConfigs } from "../queries/push-configs.ts";
import type { ConnectorRecord } from "../resources/connector.ts";
import type { PushConfigRecord } from "../resources/push-config.ts";
import type { VaultRecord } from "../resources/vault.ts";
import type { KernelDeps } from "../unit.ts";
import { currentMasterKey, openDataKey, wrapFor, wrappingLock } from "../vaults.ts";
import { defaultTenantId } from "./ensure-tenant.ts";

export interface MasterKeyRotation {
  masterKeyId: string;
  rewrapped: number;
  /** Vaults and others whose master key is not here: nothing could be done about them. */
  locked: string[];
}

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

/** At start: a rotation that was interrupted is carried to its end. Gives what cannot be opened. */
export async function settleMasterKey(deps: KernelDeps): Promise<string[]> {
  const { masterKeys } = deps;
  if (masterKeys.isTurning && !masterKeys.isFixed) return (await rewrapAll(deps)).locked;
  const locked: string[] = [];
  for await (const { id, data_key } of everyHolder(deps.store)) {
    if (masterKeys.find(data_key.kid) === undefined && locked.length < lockedMax) locked.push(id);
  }
  return locked;
}

async function rewrapAll(deps: KernelDeps): Promise<MasterKeyRotation> {
  const { masterKeys, store } = deps;
  const masterKeyId = currentMasterKey(deps).kid;
  const rotation: MasterKeyRotation = { masterKeyId, rewrapped: 0, locked: [] };
  for await (const { id, object, tenant_id, data_key } of everyHolder(store)) {
    if (data_key.kid === masterKeyId) continue;
    if (masterKeys.find(data_key.kid) !== undefined) {
      await carryOut(deps, rewrap, systemCaller(tenant_id), { kind: object, id });
      rotation.rewrapped += 1;
    } else if (rotation.locked.length < lockedMax) rotation.locked.push(id);
  }
  masterKeys.forgetOlder();
  return rotation;
}

const rewrap: Command<{ kind: HolderKind; id: string }, null> = {
  name: "rewrap_data_key",
  scope: "admin",
  async decide(unit, { kind, id }) {
    const holder = await unit.find(kind, id);
    // One that was deleted meanwhile, or a webhook that was told everything, has none.
    if (holder === undefined || holder.data_key === null) return null;
    const before = holder.data_key;
    const dataKey = openDataKey(unit.deps, { ...holder, data_key: before });
    const data_key = wrapFor(unit.deps, holder, dataKey, before.version);
    unit.emit(holder, `vendor.bridle.${kind}.data_key_rewrapped`, { data_key });
    return null;
  },
};

/** Whatever has a data key of its own. */
type AnyHolder = VaultRecord | ConnectorRecord | PushConfigRecord;
type HolderKind = AnyHolder["object"];
type Holder = Pick<AnyHolder, "id" | "object" | "tenant_id"> & { data_key: WrappedKey };

/** Those of all tenants, oldest first. */
async function* everyHolder(store: Store): AsyncGenerator<Holder> {
  for await (const { id, object, tenant_id, data_key } of everyRecord(store)) {
    if (data_key !== null) yield { id, object, tenant_id, data_key };
  }
}

async function* everyRecord(store: Store): AsyncGenerator<AnyHolder> {
  for (const kind of ["vault", "connector"]) {
    for await (const page of everyPage(store, { kind, by: { everyTenant: true } })) {
      for (const { body } of page) yield body as VaultRecord | ConnectorRecord;
    }
  }
  yield* activePushConfigs(store);
}
