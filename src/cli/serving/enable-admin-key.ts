/** Switches the administrator's key on in a data directory whose server is stopped. */

import { enableAdminKey } from "../../kernel/access/admin-key.ts";
import { systemClock } from "../../kernel/core/clock.ts";
import { createKernel } from "../../kernel/kernel.ts";
import { Issuer } from "../../kernel/receipts/signing.ts";
import { defaultTenantId } from "../../kernel/workspaces/ensure-tenant.ts";
import { systemCaller } from "../../policy/caller.ts";
import { newSigningKey } from "../../receipts/keys.ts";
import { AgentRegistry } from "../../runtime/agents/registry.ts";
import { openSqliteStore } from "../../store/sqlite/open.ts";

export async function enableStoredAdminKey(directory: string): Promise<void> {
  const store = await openSqliteStore(directory);
  try {
    const kernel = createKernel({
      store,
      clock: systemClock,
      agents: new AgentRegistry([]),
      // It signs nothing.
      issuer: new Issuer(newSigningKey().key, () => {}),
    });
    await kernel.dispatch(enableAdminKey, systemCaller(defaultTenantId), {});
    kernel.tail.close();
  } finally {
    await store.close();
  }
}
