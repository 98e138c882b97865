/** The administrator's key: rotated, disabled and enabled while the server runs. */

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createClient } from "../../src/sdk/client/index.ts";
import { bridle, errorLine, succeeded } from "../support/cli.ts";
import { Client, errorOf, type Json } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { tokenFor } from "../support/oauth.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";
import { openSocket } from "../support/socket.ts";
import { soon } from "../support/soon.ts";

/** Its key is in admin.key. */
function start(data: string): Promise<TestServer> {
  const env = { BRIDLE_API_KEY: undefined, BRIDLE_LOG_LEVEL: "trace" };
  return startServer({ data, env, config: { heartbeatMs: 600_000 } });
}

function keyIn(data: string): string {
  return readFileSync(join(data, "admin.key"), "utf8").trim();
}

async function change(client: Client, verb: "rotate" | "disable" | "enable"): Promise<Json> {
  const answer = await client.post(`/v1/admin-key/${verb}`);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

async function statusOf(client: Client): Promise<number> {
  return (await client.get("/v1/sessions")).status;
}

async function auditOf(client: Client): Promise<Json[]> {
  const records = await client.listAll("/v1/audit");
  return records.filter(({ action }) => action.startsWith("admin_key."));
}

test("KEY-11 the old key and its streams end at once, the new one is in admin.key, for later starts too", async () => {
  await using place = await temporaryDirectory();
  const output: string[] = [];
  let before: string;
  let after: string;
  {
    await using server = await start(place.path);
    before = keyIn(place.path);
    const admin = new Client(server, before);
    const made = admin.as((await admin.createKey()).key);
    await using socket = await openSocket(admin, "/v1/events/stream");
    const stream = await fetch(`${server.url}/v1/events/stream`, { headers: admin.headers() });
    const answer = await change(admin, "rotate");
    after = answer.key;
    assert.deepEqual(answer, { object: "admin_key", disabled_at: null, key: after });
    assert.deepEqual(
      [keyIn(place.path), statSync(join(place.path, "admin.key")).mode & 0o777],
      [after, 0o600],
    );
    assert.deepEqual([await statusOf(admin), await statusOf(admin.as(after))], [401, 200]);
    assert.equal(await statusOf(made), 200, "keys that it made stay");
    await soon(Promise.all([socket.closed, stream.text()]));
    const [record] = await auditOf(admin.as(after));
    assert.deepEqual(
      [record.action, record.actor, record.address, record.resource.object],
      ["admin_key.rotate", "admin", "127.0.0.1", "admin_key"],
    );
    output.push(server.output());
  }
  {
    await using server = await start(place.path);
    const admin = new Client(server, before);
    assert.deepEqual([await statusOf(admin), await statusOf(admin.as(after))], [401, 200]);
    output.push(server.output());
  }
  const events = JSON.stringify(await assertRebuildable(place.path));
  assert.match(events, /"vendor\.bridle\.tenant\.admin_key_changed"/);
  for (const key of [before, after].map((key) => key.replace("bridle_admin_", ""))) {
    assert.ok(![events, ...output].some((text) => text.includes(key)));
  }
});

test("KEY-11 a new key is redacted at once, also where only the exact value gives it away", async () => {
  await using place = await temporaryDirectory();
  await using server = await start(place.path);
  const { key } = await change(new Client(server, keyIn(place.path)), "rotate");
  const admin = new Client(server, key);
  // Glued to letters, it has not the form of a key.
  const { body } = await admin.post("/v1/sessions", {
    workspace_id: "workspace_default",
    metadata: { note: `glued${key}together` },
  });
  assert.equal(body.metadata.note, "glued[redacted:secret]together");
});

test("KEY-11 while admin.key cannot be written the old key stays, and two rotations end with one key", async () => {
  await using place = await temporaryDirectory();
  await using server = await start(place.path);
  const before = keyIn(place.path);
  const admin = new Client(server, before);
  const office = admin.as((await admin.createKey({ scopes: ["admin"], expires_at: null })).key);
  const [first, second] = await Promise.all([change(office, "rotate"), change(office, "rotate")]);
  const working = [first.key, second.key].filter((key) => key === keyIn(place.path));
  assert.equal(working.length, 1);
  const statuses = await Promise.all([first.key, second.key].map((key) => statusOf(admin.as(key))));
  assert.deepEqual(statuses.sort(), [200, 401]);
  await symlink("/dev/full", join(place.path, "admin.key.new"));
  errorOf(await office.post("/v1/admin-key/rotate"), 503);
  assert.deepEqual([keyIn(place.path), await statusOf(admin.as(working[0]))], [working[0], 200]);
});

test("KEY-12 a disabled key stays so over restarts, until an admin key enables it", async () => {
  await using place = await temporaryDirectory();
  let office: string;
  {
    await using server = await start(place.path);
    const admin = new Client(server, keyIn(place.path));
    office = (await admin.createKey({ scopes: ["admin"] })).key;
    await using socket = await openSocket(admin, "/v1/events/stream");
    const { disabled_at } = await change(admin, "disable");
    assert.equal(typeof disabled_at, "string");
    await soon(socket.closed);
    assert.deepEqual([await statusOf(admin), await statusOf(admin.as(office))], [401, 200]);
    errorOf(await admin.post("/v1/admin-key/enable"), 401);
    assert.equal((await change(admin.as(office), "disable")).disabled_at, disabled_at);
  }
  await assertRebuildable(place.path);
  await using server = await start(place.path);
  const admin = new Client(server, keyIn(place.path));
  assert.equal(await statusOf(admin), 401);
  assert.equal((await change(admin.as(office), "enable")).disabled_at, null);
  assert.equal(await statusOf(admin), 200);
  const records = await auditOf(admin);
  assert.deepEqual(
    records.map(({ action, actor }) => [action, actor]),
    [
      ["admin_key.enable", "tester"],
      ["admin_key.disable", "admin"],
    ],
    "what changed nothing is not recorded",
  );
});

test("KEY-12 disabling needs another unbound admin key that lasts for a day", async () => {
  await using server = await startServer();
  const admin = new Client(server);
  const scopes = ["admin"];
  const soon = new Date(Date.now() + 23 * 3_600_000).toISOString();
  await admin.createKey({ scopes: ["api_keys:write"] });
  await admin.createKey({ scopes, workspace_ids: ["workspace_default"] });
  await admin.createKey({ scopes, agent_names: ["echo"] });
  await admin.createKey({ scopes, tenant_id: "tenant_other" });
  await admin.createKey({ scopes, expires_at: soon });
  const { id } = await admin.createKey({ scopes });
  await admin.call(`/v1/api-keys/${id}`, { method: "DELETE" });
  const { message } = errorOf(await admin.post("/v1/admin-key/disable"), 409);
  assert.match(message, /bridle key create NAME --scope admin/);
  assert.equal(await statusOf(admin), 200);
  await admin.createKey({ scopes });
  await change(admin, "disable");
  assert.equal(await statusOf(admin), 401, "a key that was set can be disabled");
});

test("KEY-13 a set key is not rotated, and who rotates gains nothing by it", async () => {
  await using place = await temporaryDirectory();
  await using set = await startServer();
  assert.match(errorOf(await new Client(set).post("/v1/admin-key/rotate"), 409).message, /BRIDLE_API_KEY/);
  await using server = await start(place.path);
  const admin = new Client(server, keyIn(place.path));
  const lasting = { scopes: ["admin"], expires_at: null };
  const key = await admin.createKey(lasting);
  const credentials = {
    "a key that expires": (await admin.createKey({ scopes: ["admin"] })).key,
    "a key bound to addresses": (await admin.createKey({ ...lasting, allowed_cidrs: ["127.0.0.1"] })).key,
    "a key bound to a workspace": (
      await admin.createKey({ ...lasting, workspace_ids: ["workspace_default"] })
    ).key,
    "a key of another tenant": (await admin.createKey({ ...lasting, tenant_id: "tenant_other" })).key,
    "a token": await tokenFor(admin, key),
  };
  for (const [what, credential] of Object.entries(credentials)) {
    const refused = errorOf(await admin.as(credential).post("/v1/admin-key/rotate"), 403);
    assert.equal(refused.code, "permission_denied", what);
  }
  assert.equal(await statusOf(admin), 200);
  assert.equal(await statusOf(admin.as((await change(admin.as(key.key), "rotate")).key)), 200);
});

test("KEY-12 bridle key admin and the client rotate, disable and enable, at a stopped server too", async () => {
  await using place = await temporaryDirectory();
  const call = (key: string | undefined, ...args: string[]) =>
    bridle(["key", "admin", ...args, "--data", place.path], {
      env: { BRIDLE_API_KEY: undefined, BRIDLE_KEY: key },
    });
  {
    await using server = await start(place.path);
    const [rotated = ""] = succeeded(await call(undefined, "rotate")).split("\n");
    assert.equal(rotated, keyIn(place.path));
    const admin = new Client(server, rotated);
    const office = (await admin.createKey({ scopes: ["admin"] })).key;
    assert.match(succeeded(await call(undefined, "disable")), /no longer works/);
    assert.equal(await statusOf(admin), 401);
    assert.match(errorLine(await call(undefined, "enable"), 1), /is using the data directory/);
    assert.match(succeeded(await call(office, "enable")), /works again/);
    assert.equal(await statusOf(admin), 200);
    const { adminKey: client } = createClient({ url: server.url, key: rotated });
    assert.notEqual((await client.disable()).disabled_at, null);
  }
  const enabled = JSON.parse(succeeded(await call(undefined, "enable", "--json")));
  assert.deepEqual(enabled, { object: "admin_key", disabled_at: null });
  await using server = await start(place.path);
  const admin = new Client(server, keyIn(place.path));
  const [latest] = await auditOf(admin);
  assert.deepEqual([latest.action, latest.actor], ["admin_key.enable", "system"]);
});
