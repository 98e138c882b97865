/** Give a vault another data key and seal all its secrets again, in one commit. */

import { newDataKey } from "../../policy/vault-crypto.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import type { VaultRecord } from "../kinds/vault.ts";
import { openDataKey, openEntry, requireChangeable, sealEntry, wrapFor, wrappingLock } from "./vaults.ts";

export const rotateVault: Command<{ vaultId: string }, VaultRecord> = {
  name: "rotate_vault",
  scope: "vaults:write",
  audit: (_, vault) => audited("vault.rotate", vault, { key_version: vault.data_key.version }),
  isAllowedWithoutRoom: true,
  decide(unit, { vaultId }) {
    unit.hold(wrappingLock);
    const vault = requireChangeable(unit, vaultId);
    const before = openDataKey(unit.deps, vault);
    const next = newDataKey();
    const data_key = wrapFor(unit.deps, vault, next, vault.data_key.version + 1);
    let { serial } = vault;
    const secrets = vault.secrets.map((entry) => {
      const { sealed: _, ...described } = entry;
      serial += 1;
      const renewed = { ...described, serial, key_version: data_key.version };
      return sealEntry(next, vault, renewed, openEntry(before, vault, entry));
    });
    return unit.emit(vault, "vendor.bridle.vault.data_key_rotated", { data_key, secrets, serial });
  },
};
