/** The log is the program: everything that was done can be folded again from it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, until, userMessage } from "./support/client.ts";
import { sendDelivery } from "./support/deliveries.ts";
import { assertRebuildable } from "./support/log.ts";
import { Hooks } from "./support/push.ts";
import { startServer, temporaryDirectory } from "./support/server.ts";
import { openSession } from "./support/socket.ts";

test("EVT-5 refolding the events of every command yields the stored documents", async () => {
  // Given every command used once, when documents are refolded from events, then they equal the stored ones.
  await using directory = await temporaryDirectory();
  await using server = await startServer({ data: directory.path });
  const client = new Client(server);

  await client.post("/v1/workspaces", { name: "Second", root: "/srv/second" });
  await client.call("/v1/workspaces/workspace_default", { method: "PATCH", body: { name: "First" } });
  const { body: key } = await client.post("/v1/api-keys", {
    name: "other",
    actor: "someone",
    scopes: ["admin"],
    tenant_id: "tenant_other",
  });
  await client.call(`/v1/api-keys/${key.id}`, { method: "DELETE" });
  const { body: vault } = await client.post("/v1/vaults", {
    provider: "local",
    capabilities: ["read", "write", "delete"],
  });
  for (const name of ["FIRST", "SECOND"]) {
    const path = `/v1/vaults/${vault.id}/secrets/${name}`;
    await client.call(path, { method: "PUT", body: { value: "a value" } });
  }
  await client.call(`/v1/vaults/${vault.id}/secrets/SECOND`, { method: "DELETE" });
  await client.post(`/v1/vaults/${vault.id}/rotate`);
  await client.post("/v1/vaults/rotate-master-key");
  const file = { path: "notes.txt", content: "words" };
  await client.call("/v1/workspaces/workspace_default/files", { method: "PUT", body: file });

  const { body: quota } = await client.post("/v1/quotas", {
    scope: "persona",
    limits: { output_tokens: 10, concurrency: 2, tasks_per_minute: 100 },
  });
  const { body: tenantQuota } = await client.post("/v1/quotas", {
    scope: "tenant",
    limits: { tasks: 1000 },
    reset_window: "minute",
  });
  const { body: persona } = await client.post("/v1/personas", {
    name: "Careful",
    version: "1.0.0",
    entry_workflow: "rehearsal",
    description: "Asks before it acts.",
    autonomy_tier: "suggest",
    receipt_policy: "required",
    quota_id: quota.id,
    schedules: [{ cron: "* * * * * *", input: { text: "effect a" } }],
  });
  await client.call(`/v1/personas/${persona.id}`, { method: "PATCH", body: { tools: ["a"] } });

  const session = await client.createSession({
    initial_messages: [userMessage("first"), userMessage("second")],
    vault_ids: [vault.id],
  });
  await client.call(`/v1/sessions/${session.id}`, { method: "PATCH", body: { summary: "A summary" } });
  await client.post(`/v1/sessions/${session.id}/messages`, { message: userMessage("x".repeat(20_000)) });
  await client.post(`/v1/sessions/${session.id}/branches`, { kind: "sandbox", base_ref: "main" });
  await client.post("/v1/artifacts", { kind: "file", mime_type: "text/plain", visibility: "public" });
  await client.call(`/v1/artifacts/upload?session_id=${session.id}`, { raw: "bytes" });

  await client.rehearse(
    session.id,
    "say hello",
    "step one",
    "checkpoint here",
    "artifact a.txt text",
    "stream 3",
    "secret FIRST",
    "file notes.txt other words",
    "return done",
  );
  const limited = await client.submit(session.id, "effect a\nspend 8\nspend 8", { persona_id: persona.id });
  await client.untilTask(limited.id, (task) => task.status === "FAILED");
  const scheduled = async () =>
    (await client.listAll("/v1/tasks")).filter(({ metadata }) => metadata.schedule_id);
  while ((await scheduled()).length === 0) await new Promise((resolve) => setTimeout(resolve, 100));
  await client.call(`/v1/personas/${persona.id}`, { method: "PATCH", body: { schedules: [] } });
  await client.call(`/v1/quotas/${quota.id}`, { method: "PATCH", body: { limits: { tasks: 100 } } });
  await client.call(`/v1/quotas/${tenantQuota.id}`, { method: "DELETE" });
  await client.rehearse(session.id, "fail on purpose");
  await client.rehearse(session.id, "reject it");
  const asked = await client.rehearse(session.id, "ask who?", "return thanks");
  await client.answer(asked.id, "me");
  await client.untilTask(asked.id, (task) => task.status === "COMPLETED");
  const approval = await client.rehearse(session.id, "approve launch", "return launched");
  const requestId = approval.waiting_for.permission_request_id;
  await client.post(`/v1/permission-requests/${requestId}/respond`, { approved: true });
  await client.untilTask(approval.id, (task) => task.status === "COMPLETED");
  await using host = await openSession(client, session.id, { host_capabilities: ["clipboard.read"] });
  const hosted = await client.submit(session.id, `host clipboard.read ${JSON.stringify("x".repeat(5000))}`, {
    persona_id: "persona_rehearsal",
  });
  const { call_id } = await host.until("request");
  host.send({ type: "host.result", call_id, output: "text" });
  await client.untilTask(hosted.id, (task) => task.status === "COMPLETED");
  const waiting = await client.rehearse(session.id, "ask for ever?");
  await client.post(`/v1/tasks/${waiting.id}/cancel`, { reason: "enough" });
  await client.post(`/v1/sessions/${session.id}/fork`);
  await client.post(`/v1/sessions/${session.id}/compact`, { keep_last: 2 });
  await client.post(`/v1/sessions/${session.id}/truncate`, { keep_first: 1 });
  await client.post(`/v1/sessions/${session.id}/close`);
  await client.post(`/v1/sessions/${session.id}/erase`);

  const kept = await client.createMemory({ content: "forgotten soon", key: "k" });
  await client.call(`/v1/memories/${kept.id}`, { method: "DELETE" });
  await client.createMemory({ content: "known again", key: "k" });
  const other = await client.createSession({ memory_ids: [kept.id], skill_ids: ["rehearsal/rehearse"] });
  await client.rehearse(
    other.id,
    "memory write colour blue",
    "memory read colour",
    "memory write colour red",
  );
  const { body: fork } = await client.post(`/v1/sessions/${other.id}/fork`);
  await client.call(`/v1/branches/${fork.branch_id}`, {
    method: "PATCH",
    body: { worktree_uri: "file:///w" },
  });
  await client.post(`/v1/branches/${fork.branch_id}/merge`, { into_branch_id: other.branch_id });
  const { body: given } = await client.post(`/v1/sessions/${other.id}/branches`, {
    kind: "sandbox",
    base_ref: "main",
  });
  await client.post(`/v1/branches/${given.id}/abandon`, { reason: "no use" });
  const { body: skill } = await client.post("/v1/skills", { name: "sum", description: "Adds numbers." });
  await client.call(`/v1/skills/${skill.id}`, { method: "PATCH", body: { deprecated: true } });
  await client.call(`/v1/skills/${skill.id}`, { method: "DELETE" });
  const watched = await client.rehearse(other.id, "ask for ever?");
  const hooks = new Hooks(client, watched.id);
  for (const path of ["a", "b"]) await hooks.create({ id: "kept", url: `https://hook.invalid/${path}` });
  await hooks.create({ id: "deleted", url: "https://hook.invalid/" });
  await hooks.delete("deleted");
  await client.post("/v1/vaults/rotate-master-key");
  await client.post(`/v1/tasks/${watched.id}/cancel`);
  const tried = async () => (await client.get(`/v1/tasks/${watched.id}/push-configs`)).body.data[0].attempts;
  await until(tried, (attempts) => attempts > 0);
  const connector = await client.createConnector();
  const signed = { connector, id: "msg_1", body: { type: "ping" } };
  for (const status of [202, 200]) assert.equal((await sendDelivery(client, signed)).status, status);
  await client.call(`/v1/connectors/${connector.id}`, { method: "PATCH", body: { status: "PAUSED" } });
  assert.equal((await sendDelivery(client, { ...signed, id: "msg_2" })).status, 409);
  await client.call(`/v1/connectors/${connector.id}`, { method: "DELETE" });

  assert.equal(await server.stop(), 0);
  const events = await assertRebuildable(directory.path);
  const kinds = new Set(events.map((event) => event.event));
  for (const kind of [
    "task.completed",
    "task.failed",
    "task.canceled",
    "vendor.bridle.quota.exhausted",
    "vendor.bridle.schedule.fired",
    "session.compacted",
    "session.truncated",
    "session.closed",
    "session.thread_merged",
    "agent.memory_read",
    "agent.memory_write",
    "vendor.bridle.memory.deleted",
    "branch.updated",
    "branch.merged",
    "branch.abandoned",
    "vendor.bridle.skill.deleted",
    "connector.task_submitted",
    "connector.delivery_deduped",
    "connector.failed",
    "vendor.bridle.vault.secret_set",
    "vendor.bridle.vault.secret_deleted",
    "vendor.bridle.vault.data_key_rotated",
    "vendor.bridle.vault.data_key_rewrapped",
    "vendor.bridle.workspace.file_written",
    "vendor.bridle.push_config.created",
    "vendor.bridle.push_config.replaced",
    "vendor.bridle.push_config.deleted",
    "vendor.bridle.push_config.data_key_rewrapped",
    "vendor.bridle.push_config.attempt_failed",
    "vendor.bridle.session.erased",
  ]) {
    assert.ok(kinds.has(kind), kind);
  }
});
