import assert from "node:assert/strict";
import { test } from "node:test";
import { systemCaller } from "../../../policy/caller.ts";
import { newSigningKey } from "../../../receipts/keys.ts";
import { AgentRegistry } from "../../../runtime/agents/registry.ts";
import { openMemoryStore } from "../../../store/sqlite/in-memory.ts";
import { systemClock } from "../../core/clock.ts";
import { HarnessError } from "../../core/errors.ts";
import { createKernel } from "../../kernel.ts";
import { Issuer } from "../../receipts/signing.ts";
import { createSession } from "../../sessions/create-session.ts";
import { updateSession } from "../../sessions/update-session.ts";
import { defaultTenantId, ensureTenant } from "../../workspaces/ensure-tenant.ts";
import { requestErasure } from "./erase-session.ts";

test("ERR-6 a session that is being erased is locked, and says when to try again", async () => {
  // Given an erasure that was asked for and is not done, when the session is changed, then it is locked.
  const kernel = createKernel({
    ...{ store: openMemoryStore(), clock: systemClock, agents: new AgentRegistry([]) },
    issuer: new Issuer(newSigningKey().key, () => {}),
  });
  const system = systemCaller(defaultTenantId);
  const { result: tenant } = await kernel.dispatch(ensureTenant, system, { tenantId: defaultTenantId });
  const workspaceId = tenant.default_workspace_id;
  const { result: session } = await kernel.dispatch(createSession, system, { workspaceId });
  await kernel.dispatch(requestErasure, system, { sessionId: session.id });
  const change = { sessionId: session.id, changes: { summary: "new" } };
  await assert.rejects(
    kernel.dispatch(updateSession, system, change),
    (error) =>
      error instanceof HarnessError &&
      error.code === "resource_locked" &&
      error.details.retry_after_seconds === 2,
  );
});
