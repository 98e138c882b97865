import assert from "node:assert/strict";
import { test } from "node:test";
import { createApiKey } from "../kernel/access/create-api-key.ts";
import { revokeApiKey } from "../kernel/access/revoke-api-key.ts";
import { noteAudit } from "../kernel/audit/note.ts";
import { listAudit } from "../kernel/audit/read-audit.ts";
import { systemClock } from "../kernel/core/clock.ts";
import { HarnessError } from "../kernel/core/errors.ts";
import { createKernel } from "../kernel/kernel.ts";
import { Issuer } from "../kernel/receipts/signing.ts";
import { defaultTenantId, ensureTenant } from "../kernel/workspaces/ensure-tenant.ts";
import { systemCaller } from "../policy/caller.ts";
import { newSigningKey } from "../receipts/keys.ts";
import { AgentRegistry } from "../runtime/agents/registry.ts";
import { openMemoryStore } from "../store/sqlite/in-memory.ts";
import { callerNow } from "./caller-now.ts";

test("AUD-1 what is asked for over an open connection is recorded with the client's address", async () => {
  const kernel = createKernel({
    ...{ store: openMemoryStore(), clock: systemClock, agents: new AgentRegistry([]) },
    issuer: new Issuer(newSigningKey().key, () => {}),
  });
  const system = systemCaller(defaultTenantId);
  await kernel.dispatch(ensureTenant, system, { tenantId: defaultTenantId });
  const request = { name: "k", actor: "ann", scopes: ["admin"], allowedCidrs: ["203.0.113.7"] };
  const { record, key } = (await kernel.dispatch(createApiKey, system, request)).result;
  assert.ok(key !== null);
  const openedBy = { credential: key, address: "203.0.113.7" };

  const caller = await callerNow(kernel, openedBy);
  await kernel.dispatch(noteAudit, caller, { action: "content.read", resource: null });
  const [last] = (await listAudit(kernel, system, { limit: 1 })).data;
  assert.deepEqual([last?.actor, last?.address], ["ann", openedBy.address]);

  await kernel.dispatch(revokeApiKey, system, { keyId: record.id });
  await assert.rejects(
    callerNow(kernel, openedBy),
    (error) => error instanceof HarnessError && error.code === "unauthenticated",
  );
});
