/** The audit log: what it records, who reads it, and that a change to it shows. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type AuditRecord, verifyAuditLog } from "../../src/receipts/audit-record.ts";
import { Client, errorOf, type Json } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

let server: TestServer;
let admin: Client;
before(async () => {
  server = await startServer();
  admin = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

const recorded = "vendor.bridle.audit.recorded";

/** All events of the caller's tenant. */
async function eventsOf(client: Client): Promise<Json[]> {
  const events: Json[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const after: string = cursor === "" ? "" : `&after_event_id=${cursor}`;
    const { body } = await client.get(`/v1/events?limit=100${after}`);
    events.push(...body.data);
    cursor = body.page.next_cursor;
  }
  return events;
}

async function recordsOf(client: Client): Promise<AuditRecord[]> {
  const found = (await eventsOf(client)).filter(({ event }) => event === recorded);
  return found.map(({ sequence, created_at, payload, resource }) => ({
    ...payload,
    index: sequence,
    created_at,
    tenant_id: resource.id.slice("audit_log_".length),
  }));
}

test("AUD-1 a new key is recorded: who made it, from where, and what it may do", async () => {
  const maker = await admin.createKey({ actor: "ann", scopes: ["api_keys:write", "sessions:read"] });
  const made = await admin.as(maker.key).createKey({ name: "child", scopes: ["sessions:read"] });
  const record = (await recordsOf(admin)).at(-1);
  assert.deepEqual(
    { ...record, hash: "", previous_hash: "", index: 0, created_at: "" },
    {
      ...{ index: 0, tenant_id: "tenant_default", created_at: "", action: "api_key.create" },
      ...{ outcome: "success", actor: "ann", key_id: maker.id, address: "127.0.0.1" },
      resource: { object: "api_key", id: made.id },
      details: {
        ...{ name: "child", actor: "tester", scopes: ["sessions:read"], tenant_id: "tenant_default" },
        ...{ workspace_ids: null, expires_at: null },
      },
      ...{ previous_hash: "", hash: "" },
    },
  );
  assert.ok(!JSON.stringify(record).includes(made.key));
});

test("AUD-1 secrets are recorded by name, and what changed nothing is not recorded", async () => {
  const { body: vault } = await admin.post("/v1/vaults", { provider: "local", capabilities: ["write"] });
  const value = "correct horse battery staple";
  await admin.call(`/v1/vaults/${vault.id}/secrets/TOKEN`, { method: "PUT", body: { value } });
  const key = await admin.createKey();
  await admin.call(`/v1/api-keys/${key.id}`, { method: "DELETE" });
  const records = await recordsOf(admin);
  const actions = records.slice(-4).map(({ action }) => action);
  assert.deepEqual(actions, ["vault.create", "secret.set", "api_key.create", "api_key.revoke"]);
  assert.deepEqual(records.at(-3)?.details, { name: "TOKEN", version: 1 });
  assert.ok(!JSON.stringify(records).includes("horse"));
  await admin.call(`/v1/api-keys/${key.id}`, { method: "DELETE" });
  await admin.sessionWithTurns("hello");
  assert.equal((await recordsOf(admin)).length, records.length);
});

test("AUD-5 a key that the administrator makes for a tenant is in the audit logs of both", async () => {
  const key = await admin.createKey({ tenant_id: "tenant_other" });
  const inside = (await recordsOf(admin.as(key.key))).at(-1);
  const own = (await recordsOf(admin)).at(-1);
  assert.deepEqual([inside?.resource?.id, inside?.actor], [key.id, "admin"]);
  assert.equal(inside?.details.actor_tenant_id, "tenant_default");
  assert.deepEqual([own?.resource?.id, own?.details.tenant_id], [key.id, "tenant_other"]);
  assert.deepEqual((await verifyAuditLog(await recordsOf(admin.as(key.key)))).valid, true);
});

test("AUD-6 who may read events and not the audit log sees none of its records", async () => {
  const reader = admin.as((await admin.createKey({ scopes: ["events:read"] })).key);
  const events = await eventsOf(admin);
  const record = events.findLast(({ event }) => event === recorded);
  assert.ok(record !== undefined);
  assert.ok(!(await eventsOf(reader)).some(({ event }) => event === recorded));
  errorOf(await reader.get(`/v1/events/${record.id}`), 403);
});

test("AUD-3 fifty changes at once leave a chain without gaps that folds to its document", async () => {
  await using directory = await temporaryDirectory();
  const busy = await startServer({ data: directory.path });
  try {
    const client = new Client(busy);
    const quota = { scope: "workspace", limits: { tasks: 5 } };
    await Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        if (n % 2 === 0) await client.createKey({ tenant_id: n % 4 === 0 ? "tenant_other" : undefined });
        else assert.equal((await client.post("/v1/quotas", quota)).status, 201);
      }),
    );
    const records = await recordsOf(client);
    assert.equal(records.length, 50);
    const verdict = await verifyAuditLog(records);
    assert.deepEqual(verdict, { valid: true, size: 50, head_hash: records.at(-1)?.hash });
  } finally {
    await busy.stop();
  }
  await assertRebuildable(directory.path);
});
