/** Create a vault, with a data key of its own. */

import { OutboundRefused } from "../../policy/outbound.ts";
import { newDataKey } from "../../policy/vault-crypto.ts";
import type { JsonObject } from "../../store/port.ts";
import { requireWholeTenant } from "../access/authorize.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import {
  type HashicorpSource,
  type VaultProvider,
  type VaultRecord,
  vaultProviders,
} from "../kinds/vault.ts";
import { defaultTenantId } from "../workspaces/ensure-tenant.ts";
import type { HashicorpLogin } from "./hashicorp.ts";
import { assertWholeTenant, sealEntry, wrapFor, wrappingLock } from "./vaults.ts";

export interface CreateVault {
  provider: string;
  capabilities: string[];
  /** Null or left out: of the whole tenant. */
  workspaceId?: string | null | undefined;
  metadata?: JsonObject | undefined;
  /** For the provider hashicorp. */
  source?: HashicorpSource | undefined;
  login?: HashicorpLogin | undefined;
}

export const createVault: Command<CreateVault, VaultRecord> = {
  name: "create_vault",
  scope: "vaults:write",
  audit: (_, vault) => audited("vault.create", vault, { workspace_id: vault.workspace_id }),
  decide(unit, { provider: named, capabilities, workspaceId = null, metadata = {}, source, login }) {
    const provider = providerNamed(unit, named);
    // What the operator offers is offered to the whole tenant.
    if (provider === "env" || provider === "file") requireWholeTenant(unit.caller, "provider");
    assertSource(unit, provider, { source, login });
    assertWholeTenant(unit, workspaceId);
    if (workspaceId !== null) unit.require("workspace", workspaceId);
    unit.hold(wrappingLock);
    const envelope = unit.envelope("vault", "vault");
    const dataKey = newDataKey();
    const entry = { name: "login", version: 1, serial: 1, key_version: 1, metadata: {} };
    const times = { created_at: unit.at, updated_at: unit.at };
    const vault: VaultRecord = {
      ...envelope,
      metadata,
      workspace_id: workspaceId,
      provider,
      capabilities: [...new Set(capabilities)],
      data_key: wrapFor(unit.deps, envelope, dataKey, 1),
      ...(source === undefined ? {} : { source }),
      ...(login === undefined
        ? {}
        : { login: sealEntry(dataKey, envelope, { ...entry, ...times }, JSON.stringify(login)) }),
      serial: 0,
      secrets: [],
    };
    return unit.emit(vault, "vendor.bridle.vault.created", { vault });
  },
  // A plain hash of a short secret is as good as the secret.
  fingerprint: (deps, canonical) => deps.masterKeys.fingerprint(canonical),
};

/** What the operator holds is the operator's: other tenants have no way to it. */
function providerNamed({ deps, caller }: Unit, name: string): VaultProvider {
  const offered = caller.tenantId === defaultTenantId ? deps.operatorSecrets.offered : [];
  const supported = vaultProviders.filter(
    (provider) => (provider !== "env" && provider !== "file") || offered.includes(provider),
  );
  const found = supported.find((provider) => provider === name);
  if (found !== undefined) return found;
  throw new HarnessError("invalid_request", `The providers here are ${supported.join(", ")}.`, {
    param: "provider",
    details: { supported },
  });
}

function assertSource(
  { deps }: Unit,
  provider: VaultProvider,
  { source, login }: Pick<CreateVault, "source" | "login">,
): void {
  const refuse = (param: string, message: string) => new HarnessError("invalid_request", message, { param });
  if (provider !== "hashicorp") {
    if (source !== undefined)
      throw refuse("source", `source is for the provider hashicorp, not ${provider}.`);
    if (login !== undefined) throw refuse("login", `login is for the provider hashicorp, not ${provider}.`);
    return;
  }
  if (source === undefined) throw refuse("source", "source is required for the provider hashicorp.");
  if (login === undefined) throw refuse("login", "login is required for the provider hashicorp.");
  try {
    deps.outbound.check(source.address);
  } catch (error) {
    if (!(error instanceof OutboundRefused)) throw error;
    throw refuse("source.address", `source.address cannot be asked: ${error.message}`);
  }
}
