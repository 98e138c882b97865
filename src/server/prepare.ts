/** What a server makes sure of before it answers anybody: tenants, personas, keys. */

import type { Logger } from "pino";
import { noteRetentionSetting } from "../kernel/audit/retention-setting.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { TenantRecord } from "../kernel/kinds/tenant.ts";
import { ensurePersona } from "../kernel/personas/ensure-persona.ts";
import { ensureSigningKey } from "../kernel/receipts/signing-keys.ts";
import { settleMasterKey } from "../kernel/vaults/rewrap.ts";
import { ensurePublicWorkspace } from "../kernel/workspaces/ensure-public-workspace.ts";
import { defaultTenantId, ensureTenant } from "../kernel/workspaces/ensure-tenant.ts";
import { systemCaller } from "../policy/caller.ts";
import type { MasterKeys } from "../policy/master-keys.ts";
import type { KernelParts } from "./build-kernel.ts";
import type { ServerConfig } from "./config.ts";

const system = systemCaller(defaultTenantId);

/** Gives the tenant that everything belongs to unless another one is named. */
export async function prepare(
  { kernel, adminKey, issuer, masterKeys }: KernelParts,
  { logger, personas }: ServerConfig,
): Promise<TenantRecord> {
  const { result: tenant } = await kernel.dispatch(ensureTenant, system, { tenantId: defaultTenantId });
  adminKey.setDisabled(tenant.admin_key_disabled_at != null);
  const { result: signingKey } = await kernel.dispatch(ensureSigningKey, system, { key: issuer.key });
  issuer.adopt(signingKey.issuer_id);
  await kernel.receipts.start();
  await preparePublicTenants(kernel);
  for (const persona of personas) await kernel.dispatch(ensurePersona, system, persona);
  await noteRetentionSetting(kernel);
  warnAboutLocked(logger, masterKeys, await settleMasterKey(kernel));
  return tenant;
}

/** Each agent has a persona from the start. */
export async function prepareAgents(kernel: Kernel): Promise<void> {
  await kernel.dispatch(ensureTenant, system, { tenantId: defaultTenantId });
  await preparePublicTenants(kernel);
}

/** Where the work of anonymous callers goes: nothing is made for servers that have no public agent. */
async function preparePublicTenants(kernel: Kernel): Promise<void> {
  const tenantIds = new Set(kernel.agents.list().flatMap(({ card }) => card.public?.tenantId ?? []));
  for (const tenantId of tenantIds) {
    await kernel.dispatch(ensureTenant, systemCaller(tenantId), { tenantId });
    await kernel.dispatch(ensurePublicWorkspace, systemCaller(tenantId), {});
  }
}

/** What cannot be opened is an operator's to put right; everything else works without it. */
function warnAboutLocked(logger: Logger, { problem }: MasterKeys, locked: readonly string[]): void {
  if (problem === null && locked.length === 0) return;
  const about = {
    event: "vault.master_key_wrong",
    master_key: problem ?? undefined,
    locked: locked.slice(0, 10),
  };
  logger.warn(about, "Secrets cannot be read: the vaults are encrypted with another master key");
}
