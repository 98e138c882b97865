/** When keys end by themselves, and when they were used last. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, errorOf, type Json } from "../support/client.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

const dayMs = 24 * 60 * 60 * 1000;
let server: TestServer;
let admin: Client;
before(async () => {
  server = await startServer();
  admin = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

function daysLeft({ created_at, expires_at }: Json): number {
  return (Date.parse(expires_at) - Date.parse(created_at)) / dayMs;
}

test("KEY-6 a key made without an end expires after 90 days; admin can make one that never does", async () => {
  assert.equal(daysLeft(await admin.createKey()), 90);
  assert.equal((await admin.createKey({ expires_at: null })).expires_at, null);
  const clerk = await admin.createKey({ scopes: ["api_keys:write", "sessions:read"] });
  const key = { name: "x", actor: "x", scopes: ["sessions:read"] };
  const { code, details } = errorOf(
    await admin.as(clerk.key).post("/v1/api-keys", { ...key, expires_at: null }),
    403,
  );
  assert.deepEqual([code, details.required_scope], ["permission_denied", "admin"]);
});

test("KEY-6 without an end, a key ends no later than the one that made it", async () => {
  const ends = new Date(Date.now() + dayMs).toISOString();
  const parent = await admin.createKey({ expires_at: ends });
  assert.equal((await admin.as(parent.key).createKey()).expires_at, ends);
});

test("KEY-6 without admin a key is not made for longer than the usual time", async () => {
  const clerk = await admin.createKey({ scopes: ["api_keys:write", "sessions:read"], expires_at: null });
  const make = (client: Client, days: number) =>
    client.post("/v1/api-keys", {
      ...{ name: "x", actor: "x", scopes: ["sessions:read"] },
      expires_at: new Date(Date.now() + days * dayMs).toISOString(),
    });
  const { param } = errorOf(await make(admin.as(clerk.key), 91), 403);
  assert.equal(param, "expires_at");
  assert.equal((await make(admin.as(clerk.key), 89)).status, 201);
  assert.equal((await make(admin, 91)).status, 201);
});

test("KEY-6 the operator sets the days, or never", async () => {
  await using short = await startServer({ flags: ["--key-days", "7"] });
  assert.equal(daysLeft(await new Client(short).createKey()), 7);
  await using never = await startServer({ env: { BRIDLE_KEY_DAYS: "never" } });
  assert.equal((await new Client(never).createKey()).expires_at, null);
});

test("KEY-7 the last use of a key is kept across restarts, with one event however often it is used", async () => {
  await using place = await temporaryDirectory();
  let id: string;
  {
    await using first = await startServer({ data: place.path });
    const client = new Client(first);
    const key = await client.createKey();
    id = key.id;
    assert.equal((await client.createKey()).last_used_at, undefined);
    for (let n = 0; n < 20; n++) await client.as(key.key).get("/v1/sessions");
  }
  await using second = await startServer({ data: place.path });
  const client = new Client(second);
  const { last_used_at, created_at, updated_at } = (await client.get(`/v1/api-keys/${id}`)).body;
  assert.ok(last_used_at >= created_at && Date.parse(last_used_at) <= Date.now());
  assert.equal(updated_at, created_at, "using a key does not change it");
  const events = (await client.listAll("/v1/events")).filter(({ resource }) => resource.id === id);
  assert.deepEqual(
    events.map(({ event }) => event),
    ["vendor.bridle.api_key.created", "vendor.bridle.api_key.used"],
  );
});
