/** A key gets a new secret, and keeps everything else. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createClient } from "../../src/sdk/client/index.ts";
import { bridle, errorLine, succeeded } from "../support/cli.ts";
import { Client, errorOf, type Json, until } from "../support/client.ts";
import { tokenFor } from "../support/oauth.ts";
import { adminKey, startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

let server: TestServer;
let admin: Client;
before(async () => {
  server = await startServer();
  admin = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

async function rotate(client: Client, id: string, body: object = {}): Promise<Json> {
  const answer = await client.post(`/v1/api-keys/${id}/rotate`, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

async function works(secret: string): Promise<boolean> {
  const { status } = await admin.as(secret).get("/v1/sessions");
  assert.ok(status === 200 || status === 401, String(status));
  return status === 200;
}

test("KEY-8 rotation keeps id, rights and end; the old secret works until the overlap ends", async () => {
  const before = await admin.createKey({ scopes: ["sessions:read"], agent_names: ["echo"] });
  const after = await rotate(admin, before.id);
  const { key: oldSecret, updated_at: _, ...rest } = before;
  const { key: newSecret, updated_at: __, previous_key_expires_at, made: ___, ...now } = after;
  assert.deepEqual(now, rest);
  assert.notEqual(newSecret, oldSecret);
  const hours = (Date.parse(previous_key_expires_at) - Date.now()) / 3_600_000;
  assert.ok(hours > 23.9 && hours <= 24, String(hours));
  assert.deepEqual([await works(oldSecret), await works(newSecret)], [true, true]);
  assert.ok(!JSON.stringify((await admin.get(`/v1/api-keys/${before.id}`)).body).includes("hash"));
  const events = (await admin.listAll("/v1/events")).filter(({ resource }) => resource.id === before.id);
  assert.ok(!JSON.stringify(events).includes("hash"));
});

test("KEY-8 with an overlap of 0 the old secret and its tokens end at once", async () => {
  const before = await admin.createKey();
  const token = await tokenFor(admin, before);
  assert.deepEqual([await works(before.key), await works(token)], [true, true]);
  const after = await rotate(admin, before.id, { overlap_seconds: 0 });
  assert.deepEqual([await works(before.key), await works(token)], [false, false]);
  assert.ok(await works(after.key));
  assert.ok(await works(await tokenFor(admin, after)));
});

test("KEY-8 after the overlap the old secret and its tokens are nothing any more", async () => {
  const before = await admin.createKey();
  const after = await rotate(admin, before.id, { overlap_seconds: 1 });
  const token = await tokenFor(admin, before);
  for (const secret of [before.key, token])
    await until(
      () => works(secret),
      (works) => !works,
    );
  assert.ok(await works(after.key));
});

test("KEY-8 there is one old secret at a time", async () => {
  const first = await admin.createKey();
  const second = await rotate(admin, first.id);
  const third = await rotate(admin, first.id);
  const state = await Promise.all([first, second, third].map(({ key }) => works(key)));
  assert.deepEqual(state, [false, true, true]);
});

test("KEY-8 rotation never makes more than there was", async () => {
  const ends = new Date(Date.now() + 3_600_000).toISOString();
  const key = await admin.createKey({ scopes: ["api_keys:write", "sessions:read"], expires_at: ends });
  const self = await rotate(admin.as(key.key), key.id);
  assert.equal(self.expires_at, ends);
  const path = `/v1/api-keys/${key.id}/rotate`;
  errorOf(await admin.as(await tokenFor(admin, self)).post(path, {}), 403);
  errorOf(await admin.as(key.key).post(`/v1/api-keys/${(await admin.createKey()).id}/rotate`, {}), 403);
  const bound = await admin.createKey({ scopes: ["admin"], allowed_cidrs: ["127.0.0.1"] });
  errorOf(await admin.as(bound.key).post(path, {}), 404);
  errorOf(await admin.post(path, { overlap_seconds: 604_801 }), 400);
  await admin.call(`/v1/api-keys/${key.id}`, { method: "DELETE" });
  errorOf(await admin.post(path, {}), 409);
  assert.ok(!(await works(self.key)), "revoking ends the new secret too");
});

test("KEY-8 the old secret cannot rotate the new one away", async () => {
  const key = await admin.createKey();
  const { key: newest } = await rotate(admin, key.id);
  errorOf(await admin.as(key.key).post(`/v1/api-keys/${key.id}/rotate`, {}), 403);
  assert.ok(await works(newest));
});

test("KEY-8 an old secret that ends with its key cannot rotate the new one away, nor can a token", async () => {
  const ends = new Date(Date.now() + 600_000).toISOString();
  const key = await admin.createKey({ expires_at: ends });
  const rotated = await rotate(admin, key.id);
  assert.ok(rotated.previous_key_expires_at < ends, "the old secret ends before the key");
  for (const credential of [key.key, await tokenFor(admin, rotated)])
    errorOf(await admin.as(credential).post(`/v1/api-keys/${key.id}/rotate`, {}), 403);
  assert.ok(await works(rotated.key));
  await rotate(admin.as(rotated.key), key.id);
});

const clerkScopes = ["api_keys:write", "sessions:read"];

test("KEY-8 without admin a key rotates itself and what it made, and no other identity", async () => {
  const clerk = await admin.createKey({ actor: "clerk", scopes: clerkScopes });
  const other = await admin.createKey({
    actor: "other",
    scopes: ["sessions:read"],
    expires_at: clerk.expires_at,
  });
  const as = admin.as(clerk.key);
  const { code } = errorOf(await as.post(`/v1/api-keys/${other.id}/rotate`, {}), 403);
  assert.equal(code, "permission_denied");
  assert.ok(await works(other.key));
  const child = await as.createKey({ actor: "clerk", scopes: clerkScopes });
  const grandchild = await admin.as(child.key).createKey({ actor: "clerk", scopes: ["sessions:read"] });
  for (const { id } of [child, grandchild]) await rotate(as, id);
  await rotate(as, clerk.id);
});

test("KEY-8 the key of an approver is rotated by itself or its maker, not by other administrators", async () => {
  const scopes = ["harp:approver:ann", "api_keys:write"];
  const [maker, colleague] = [await admin.createKey(), await admin.createKey()];
  const approver = await admin.as(maker.key).createKey({ actor: "ann", scopes });
  const path = `/v1/api-keys/${approver.id}/rotate`;
  for (const client of [admin, admin.as(colleague.key)]) errorOf(await client.post(path, {}), 403);
  const { key } = await rotate(admin.as(maker.key), approver.id);
  await rotate(admin.as(key), approver.id);
});

test("KEY-8 the answer to a rotation names what the key made", async () => {
  const key = await admin.createKey();
  const child = await admin.as(key.key).createKey();
  const connector = await admin.as(key.key).createConnector();
  const { made } = await rotate(admin, key.id, { overlap_seconds: 0 });
  assert.deepEqual(made, {
    api_key_ids: [child.id],
    persona_ids: [],
    schedule_ids: [],
    connector_ids: [connector.id],
  });
  assert.ok(await works(child.key), "rotation does not end it");
});

test("KEY-8 rotated secrets survive a restart, and rotation is in the audit log", async () => {
  await using place = await temporaryDirectory();
  let secrets: string[];
  {
    await using first = await startServer({ data: place.path });
    const client = new Client(first);
    const key = await client.createKey({ name: "turned" });
    secrets = [key.key, (await rotate(client, key.id)).key];
  }
  await using second = await startServer({ data: place.path });
  const client = new Client(second);
  for (const secret of secrets) assert.equal((await client.as(secret).get("/v1/sessions")).status, 200);
  const records = await client.listAll("/v1/audit");
  const { details } = records.find(({ action }) => action === "api_key.rotate");
  assert.deepEqual(details, { name: "turned", actor: "tester", overlap_seconds: 86_400 });
});

test("KEY-9 bridle key creates, lists, shows, rotates and revokes keys, for people and scripts", async () => {
  const call = (...args: string[]) => bridle(["key", ...args], { server, env: { BRIDLE_KEY: adminKey } });
  const json = async (...args: string[]) => JSON.parse(succeeded(await call(...args, "--json")));
  const made = await json("create", "shop", "--scope", "sessions:read", "tasks:read", "--agent", "echo");
  assert.deepEqual(
    [made.actor, made.scopes, made.agent_names],
    ["shop", ["sessions:read", "tasks:read"], ["echo"]],
  );
  assert.ok(await works(made.key));
  assert.ok((await json("list")).some(({ id }: Json) => id === made.id));
  assert.match(succeeded(await call("list")), new RegExp(`^${made.id} +shop +shop +expires`, "m"));
  const shown = succeeded(await call("show", made.id));
  assert.match(shown, /^Agents +echo$/m);
  assert.ok(!shown.includes(made.key));
  const text = succeeded(await call("rotate", made.id, "--overlap-seconds", "0"));
  const [secret = ""] = text.split("\n");
  assert.deepEqual([await works(made.key), await works(secret)], [false, true]);
  assert.match(succeeded(await call("revoke", made.id)), / no longer works\.$/m);
  assert.ok(!(await works(secret)));
  assert.match(errorLine(await call("show", "key_none"), 1), /resource_not_found/);
  assert.match(
    errorLine(await call("create", "x", "--scope", "admin", "--expires", "soon"), 2),
    /2027-01-01/,
  );
});

test("KEY-9 the client makes, rotates and revokes keys", async () => {
  const { apiKeys } = createClient({ url: server.url, key: adminKey });
  const made = await apiKeys.create({ name: "c", actor: "c", scopes: ["sessions:read"], expires_at: null });
  const rotated = await apiKeys.rotate(made.id, { overlapSeconds: 0 });
  assert.equal(rotated.id, made.id);
  assert.equal((await apiKeys.get(made.id)).key, undefined);
  assert.notEqual((await apiKeys.revoke(made.id)).revoked_at, null);
});
