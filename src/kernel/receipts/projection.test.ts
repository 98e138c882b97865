import assert from "node:assert/strict";
import { test } from "node:test";
import { systemCaller } from "../../policy/caller.ts";
import { newSigningKey } from "../../receipts/keys.ts";
import { defineAgent } from "../../runtime/agents/agent.ts";
import { AgentRegistry } from "../../runtime/agents/registry.ts";
import type { NewEvent } from "../../store/port.ts";
import { openMemoryStore } from "../../store/sqlite/in-memory.ts";
import { systemClock } from "../core/clock.ts";
import { createKernel } from "../kernel.ts";
import { createSession } from "../sessions/create-session.ts";
import { cancelTask } from "../tasks/cancel-task.ts";
import { submitTask } from "../tasks/submit-task.ts";
import { defaultTenantId, ensureTenant } from "../workspaces/ensure-tenant.ts";
import { getReceipt } from "./read-receipts.ts";
import { requestReceipt } from "./request-receipt.ts";
import { Issuer } from "./signing.ts";
import { ensureSigningKey } from "./signing-keys.ts";

const system = systemCaller(defaultTenantId);

test("REL-R1 a receipt that cannot be issued is left out and named, and those after it are issued", async () => {
  // Given events that ask for the receipt of a task that is not there, and one whose id somebody else has.
  const { key } = newSigningKey();
  const errors: string[] = [];
  const kernel = createKernel({
    store: openMemoryStore(),
    clock: systemClock,
    agents: new AgentRegistry([defineAgent({ name: "echo", version: "1.0.0", run: async () => "done" })]),
    issuer: new Issuer(key, () => {}),
    onReceiptError: (error) => errors.push(String(error)),
  });
  await kernel.dispatch(ensureTenant, system, { tenantId: defaultTenantId });
  await kernel.dispatch(ensureSigningKey, system, { key });
  await kernel.receipts.start();
  const place = { workspaceId: "workspace_default" };
  const { result: session } = await kernel.dispatch(createSession, system, place);
  const request = { sessionId: session.id, input: { payload: {} }, metadata: {} };
  const { result: task } = await kernel.dispatch(submitTask, system, request);
  const asking = (taskId: string, receiptId: string): NewEvent => ({
    event: "vendor.bridle.receipt.requested",
    resource: { object: "session", id: session.id },
    tenantId: defaultTenantId,
    workspaceId: place.workspaceId,
    ...{ sessionId: session.id, taskId, actor: "system", createdAt: task.created_at },
    payload: { receipt_id: receiptId, subject: { object: "event", id: "evt_0000000000000001" } },
  });
  const taken = { kind: "session", id: "receipt_taken" };
  const index = { tenantId: "tenant_other" };
  const about = { ...asking("task_x", "x"), resource: { object: "session", id: taken.id }, ...index };
  await kernel.store.commit({
    expect: [{ ...taken, version: 0 }],
    events: [about],
    put: [{ ...taken, index, body: {} }],
    blobs: [],
  });
  const missing = asking("task_missing", "receipt_missing");
  const events = [missing, asking(task.id, taken.id)];
  // When a task ends after them, then its receipt is issued.
  await kernel.store.commit({ expect: [], events, put: [], blobs: [] });
  const { result: ended } = await kernel.dispatch(cancelTask, system, { taskId: task.id });
  const receipt = await getReceipt(kernel, system, ended.outcome?.receipt_id ?? "");
  assert.equal(receipt.subject.id, task.id);
  for (const id of ["receipt_missing", taken.id]) {
    assert.equal(errors.filter((line) => line.includes(`${id} of`) && line.includes("left out")).length, 1);
  }
  // What would be redacted in the log is not asked for: nothing would be found under its name.
  const subject = { object: "tool_call", id: `${task.id}/step:x password=stripe2024key:1` } as const;
  await assert.rejects(kernel.dispatch(requestReceipt, system, { subject, taskId: task.id }), {
    code: "invalid_request",
  });
  await kernel.receipts.close(0);
  kernel.tail.close();
});
