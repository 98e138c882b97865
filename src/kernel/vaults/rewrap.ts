/** Every data key, of vaults, connectors and webhooks of all tenants, wrapped with the current master key. */

import { systemCaller } from "../../policy/caller.ts";
import type { WrappedKey } from "../../policy/vault-crypto.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import { type Command, runCommand } from "../core/dispatch.ts";
import { paginate } from "../core/paginate.ts";
import type { WholeDeps } from "../core/unit.ts";
import type { ConnectorRecord } from "../kinds/connector.ts";
import type { PushConfigRecord } from "../kinds/push-config.ts";
import type { VaultRecord } from "../kinds/vault.ts";
import { activePushConfigs } from "../push/push-configs.ts";
import { currentMasterKey, openDataKey, wrapFor } from "./vaults.ts";

export interface MasterKeyRotation {
  masterKeyId: string;
  rewrapped: number;
  /** Vaults and others whose master key is not here: nothing could be done about them. */
  locked: string[];
}

/** Locked vaults that are named; there is one reason for all of them. */
const lockedMax = 100;

/** At start: a rotation that was interrupted is carried to its end. Gives what cannot be opened. */
export async function settleMasterKey(deps: WholeDeps): Promise<string[]> {
  const { masterKeys } = deps;
  if (masterKeys.isTurning && !masterKeys.isFixed) return (await rewrapAll(deps)).locked;
  const locked: string[] = [];
  for await (const { id, data_key } of everyHolder(deps.store)) {
    if (masterKeys.find(data_key.kid) === undefined && locked.length < lockedMax) locked.push(id);
  }
  return locked;
}

export async function rewrapAll(deps: WholeDeps): Promise<MasterKeyRotation> {
  const { masterKeys, store } = deps;
  const masterKeyId = currentMasterKey(deps).kid;
  const rotation: MasterKeyRotation = { masterKeyId, rewrapped: 0, locked: [] };
  for await (const { id, object, tenant_id, data_key } of everyHolder(store)) {
    if (data_key.kid === masterKeyId) continue;
    if (masterKeys.find(data_key.kid) !== undefined) {
      await runCommand(deps, rewrap, systemCaller(tenant_id), { kind: object, id });
      rotation.rewrapped += 1;
    } else if (rotation.locked.length < lockedMax) rotation.locked.push(id);
  }
  masterKeys.forgetOlder();
  return rotation;
}

const rewrap: Command<{ kind: HolderKind; id: string }, null> = {
  name: "rewrap_data_key",
  scope: "admin",
  decide(unit, { kind, id }) {
    const holder = unit.find(kind, id);
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
async function* everyHolder(store: WholeStore): AsyncGenerator<Holder> {
  for await (const { id, object, tenant_id, data_key } of everyRecord(store)) {
    if (data_key !== null) yield { id, object, tenant_id, data_key };
  }
}

async function* everyRecord(store: WholeStore): AsyncGenerator<AnyHolder> {
  for (const kind of ["vault", "connector"]) {
    for await (const page of paginate(store, { kind })) {
      for (const { body } of page) yield body as VaultRecord | ConnectorRecord;
    }
  }
  yield* activePushConfigs(store);
}
