/** SEC-M4: a webhook does not outlive the key that registered it. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let admin: Client;
before(async () => {
  server = await startServer({ flags: ["--allow-private-addresses"] });
  admin = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

async function configsOf(taskId: string): Promise<string[]> {
  const { status, body } = await admin.get(`/opvs/rest/tasks/${taskId}/pushNotificationConfigs`, {
    "a2a-version": "1.0",
  });
  assert.equal(status, 200, JSON.stringify(body));
  return (body.configs ?? []).map(({ id }: { id: string }) => id);
}

test("SEC-M4 revoking a key deletes the webhooks that it registered, and no others", async () => {
  const session = await admin.createSession();
  const task = await admin.rehearse(session.id, "ask Well?");
  const contractor = await admin.createKey({ scopes: ["tasks:write", "tasks:read"] });
  const path = `/opvs/rest/tasks/${task.id}/pushNotificationConfigs`;
  for (const [by, id] of [
    [admin.as(contractor.key), "theirs"],
    [admin, "ours"],
  ] as const) {
    const added = await by.post(path, { id, url: "http://127.0.0.1:9/hook" }, { "a2a-version": "1.0" });
    assert.ok(added.status < 300, JSON.stringify(added.body));
  }
  assert.deepEqual((await configsOf(task.id)).sort(), ["ours", "theirs"]);
  await admin.call(`/v1/api-keys/${contractor.id}`, { method: "DELETE" });
  assert.deepEqual(await configsOf(task.id), ["ours"]);
});

test("SEC-M4 a webhook belongs to the key that put it there last", async () => {
  const session = await admin.createSession();
  const task = await admin.rehearse(session.id, "ask Well?");
  const scopes = ["tasks:write", "tasks:read"];
  const [first, second] = [await admin.createKey({ scopes }), await admin.createKey({ scopes })];
  const path = `/opvs/rest/tasks/${task.id}/pushNotificationConfigs`;
  for (const { key } of [first, second]) {
    const config = { id: "shared", url: "http://127.0.0.1:9/hook" };
    const put = await admin.as(key).post(path, config, { "a2a-version": "1.0" });
    assert.ok(put.status < 300, JSON.stringify(put.body));
  }
  await admin.call(`/v1/api-keys/${first.id}`, { method: "DELETE" });
  assert.deepEqual(await configsOf(task.id), ["shared"]);
  await admin.call(`/v1/api-keys/${second.id}`, { method: "DELETE" });
  assert.deepEqual(await configsOf(task.id), []);
});
