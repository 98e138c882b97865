/** What the commands and queries about vaults share: opening data keys, sealing and opening secrets, who may change what. */

import type { KeyObject } from "node:crypto";
import { isBound } from "../../policy/caller.ts";
import { NoMasterKey } from "../../policy/master-keys.ts";
import {
  type Belonging,
  BrokenSeal,
  type MasterKey,
  openSecret,
  sealSecret,
  unwrapKey,
  type WrappedKey,
  wrapKey,
} from "../../policy/vault-crypto.ts";
import { HarnessError } from "../core/errors.ts";
import type { KernelDeps, Unit } from "../core/unit.ts";
import type { VaultCapability, VaultRecord, VaultSecret } from "../kinds/vault.ts";

/** Whoever wraps a data key holds this until it is committed, so that a master key is never forgotten too early. */
export const wrappingLock = "master_key";

type Keys = Pick<KernelDeps, "masterKeys">;
type Owner = Pick<VaultRecord, "id" | "tenant_id">;

function placeOf({ tenant_id, id }: Owner): Belonging {
  return [tenant_id, id];
}

function secretPlace(
  vault: Owner,
  { name, version, serial, key_version }: Omit<VaultSecret, "sealed">,
): Belonging {
  return [...placeOf(vault), name, version, serial, key_version];
}

export function currentMasterKey({ masterKeys }: Keys): MasterKey {
  try {
    return masterKeys.current;
  } catch (error) {
    if (!(error instanceof NoMasterKey)) throw error;
    throw new HarnessError("service_unavailable", `The server has no master key: ${error.message}`);
  }
}

export function wrapFor(deps: Keys, vault: Owner, dataKey: KeyObject, version: number): WrappedKey {
  return wrapKey(currentMasterKey(deps), dataKey, version, placeOf(vault));
}

/** The data key of a vault, or of a connector, which holds a secret of its own in the same way. */
export function openDataKey({ masterKeys }: Keys, vault: Owner & { data_key: WrappedKey }): KeyObject {
  const { kid } = vault.data_key;
  const master = masterKeys.find(kid);
  if (master === undefined) {
    throw new HarnessError(
      "service_unavailable",
      `${vault.id} is locked: its key is wrapped with the master key ${kid}, which this server does not have.`,
      { details: { vault_id: vault.id, master_key_id: kid } },
    );
  }
  return intact(vault.id, () => unwrapKey(master, vault.data_key, placeOf(vault)));
}

export function sealEntry(
  dataKey: KeyObject,
  vault: Owner,
  entry: Omit<VaultSecret, "sealed">,
  value: string,
): VaultSecret {
  return { ...entry, sealed: sealSecret(dataKey, value, secretPlace(vault, entry)) };
}

export function openEntry(dataKey: KeyObject, vault: Owner, entry: VaultSecret): string {
  return intact(vault.id, () => openSecret(dataKey, entry.sealed, secretPlace(vault, entry)));
}

/** What does not open was changed behind our back, or belongs elsewhere. */
function intact<T>(vaultId: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof BrokenSeal)) throw error;
    throw new HarnessError(
      "service_unavailable",
      `What ${vaultId} holds does not open with its key: it was damaged, or it is not its own.`,
      { details: { vault_id: vaultId } },
    );
  }
}

/** A vault that the caller may change. One of the whole tenant is not for those who see a part of it only. */
export function requireChangeable(unit: Unit, vaultId: string): VaultRecord {
  const vault = unit.require("vault", vaultId);
  assertWholeTenant(unit, vault.workspace_id);
  if (vault.provider === "local") return vault;
  throw new HarnessError(
    "policy_violation",
    `Vault ${vaultId} is of the provider ${vault.provider}: its secrets are changed there, and not here.`,
    { details: { vault_id: vaultId, provider: vault.provider } },
  );
}

export function assertWholeTenant({ caller }: Unit, workspaceId: string | null): void {
  if (workspaceId !== null || !isBound(caller)) return;
  throw new HarnessError(
    "permission_denied",
    "A vault of the whole tenant reaches every workspace; a key that is bound to workspaces, agents or personas cannot make or change one.",
    { param: "workspace_id" },
  );
}

export function assertAllows(vault: VaultRecord, capability: VaultCapability): void {
  if (vault.capabilities.includes(capability)) return;
  throw new HarnessError("policy_violation", `Vault ${vault.id} does not allow "${capability}".`, {
    details: { vault_id: vault.id, capabilities: vault.capabilities },
  });
}
