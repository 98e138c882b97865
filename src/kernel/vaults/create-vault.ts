/** Create a vault, with a data key of its own. */

import { newDataKey } from "../../policy/vault-crypto.ts";
import type { JsonObject } from "../../store/port.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import { type VaultCapability, type VaultRecord, vaultCapabilities } from "../kinds/vault.ts";
import { assertWholeTenant, wrapFor, wrappingLock } from "./vaults.ts";

export interface CreateVault {
  provider: string;
  capabilities: VaultCapability[];
  /** Null or left out: of the whole tenant. */
  workspaceId?: string | null | undefined;
  metadata?: JsonObject | undefined;
}

export const createVault: Command<CreateVault, VaultRecord> = {
  name: "create_vault",
  scope: "vaults:write",
  audit: (_, vault) => audited("vault.create", vault, { workspace_id: vault.workspace_id }),
  decide(unit, { provider, capabilities, workspaceId = null, metadata = {} }) {
    if (provider !== "local") {
      throw new HarnessError("invalid_request", 'The only provider here is "local".', {
        param: "provider",
        details: { supported: ["local"] },
      });
    }
    assertWholeTenant(unit, workspaceId);
    if (workspaceId !== null) unit.require("workspace", workspaceId);
    unit.hold(wrappingLock);
    const envelope = unit.envelope("vault", "vault");
    const vault: VaultRecord = {
      ...envelope,
      metadata,
      workspace_id: workspaceId,
      provider,
      capabilities: vaultCapabilities.filter((capability) => capabilities.includes(capability)),
      data_key: wrapFor(unit.deps, envelope, newDataKey(), 1),
      serial: 0,
      secrets: [],
    };
    return unit.emit(vault, "vendor.bridle.vault.created", { vault });
  },
};
