/** SEC-M1: no key outlives the credential that made it. */

import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, test } from "node:test";
import { Client, errorOf } from "../support/client.ts";
import { tokenFor } from "../support/oauth.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let admin: Client;
before(async () => {
  server = await startServer();
  admin = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

const scopes = ["api_keys:write", "sessions:read"];

test("SEC-M1 a token that ends makes no key that ends later", async () => {
  const parent = await admin.createKey({ scopes });
  const token = admin.as(await tokenFor(admin, parent));
  const key = { name: "child", actor: "child", scopes: ["sessions:read"] };
  errorOf(await token.post("/v1/api-keys", { ...key, expires_at: null }), 403);
  const late = new Date(Date.now() + 3_600_000).toISOString();
  errorOf(await token.post("/v1/api-keys", { ...key, expires_at: late }), 403);
  const usual = (await token.post("/v1/api-keys", key)).body;
  assert.ok(Date.parse(usual.expires_at) <= Date.now() + 15 * 60_000, "it ends with the token");
  const soon = { ...key, expires_at: new Date(Date.now() + 60_000).toISOString() };
  assert.equal((await token.post("/v1/api-keys", soon)).status, 201);
});

test("SEC-M1 revoking a key revokes what it made, and what that made", async () => {
  const parent = await admin.createKey({ scopes });
  const child = await admin.as(parent.key).createKey({ scopes });
  const grandchild = await admin.as(child.key).createKey({ scopes: ["sessions:read"] });
  const stranger = await admin.createKey({ scopes: ["sessions:read"] });
  assert.equal((await admin.get(`/v1/api-keys/${child.id}`)).body.created_by_key_id, parent.id);
  assert.equal((await admin.as(grandchild.key).get("/v1/sessions")).status, 200);
  const revoked = await admin.call(`/v1/api-keys/${parent.id}`, { method: "DELETE" });
  assert.ok(revoked.status < 300, JSON.stringify(revoked.body));
  for (const { key } of [parent, child, grandchild]) errorOf(await admin.as(key).get("/v1/sessions"), 401);
  assert.equal((await admin.as(stranger.key).get("/v1/sessions")).status, 200);
});

test("SEC-M1 a key that is revoked while it makes another leaves none that works", async () => {
  const parent = await admin.createKey({ scopes });
  const body = JSON.stringify({ name: "child", actor: "child", scopes: ["sessions:read"] });
  const headers = { ...admin.headers({ "content-type": "application/json" }, parent.key) };
  const made = await new Promise<string>((resolve, reject) => {
    const sent = { ...headers, "content-length": String(body.length), expect: "100-continue" };
    const asked = request(
      `${server.url}/v1/api-keys`,
      { method: "POST", headers: sent },
      async (response) => {
        const answer = JSON.parse((await response.setEncoding("utf8").toArray()).join(""));
        resolve(answer.key ?? "");
      },
    );
    asked.on("error", reject);
    // The server has read the head, and waits for the body.
    asked.once("continue", async () => {
      asked.write(body.slice(0, 5));
      await admin.call(`/v1/api-keys/${parent.id}`, { method: "DELETE" });
      asked.end(body.slice(5));
    });
    asked.flushHeaders();
  });
  errorOf(await admin.as(made).get("/v1/sessions"), 401);
});

test("SEC-M1 a key for another tenant ends with the key that made it", async () => {
  const operator = await admin.createKey({ scopes: ["admin"] });
  const child = await admin.as(operator.key).createKey({ tenant_id: "tenant_b", scopes: ["admin"] });
  assert.equal((await admin.as(child.key).get("/v1/sessions")).status, 200);
  await admin.call(`/v1/api-keys/${operator.id}`, { method: "DELETE" });
  errorOf(await admin.as(child.key).get("/v1/sessions"), 401);
});
