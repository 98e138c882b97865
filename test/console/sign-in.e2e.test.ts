/** Signing browsers in and out, as requests: what a session is, and who cannot use it. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, type Json, protocolVersion } from "../support/client.ts";
import { adminKey, startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let admin: Client;
before(async () => {
  server = await startServer();
  admin = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

interface Session {
  cookie: string;
  page: string;
}

async function post(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return await fetch(server.url + path, {
    method: "POST",
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function signIn(key = adminKey): Promise<Session> {
  const response = await post("/console/sign-in", { key });
  assert.equal(response.status, 200, await response.clone().text());
  const body: Json = await response.json();
  const cookie = response.headers.get("set-cookie") ?? "";
  return { cookie: cookie.split(";")[0] ?? "", page: body.session };
}

function headersOf({ cookie, page }: Partial<Session>): Record<string, string> {
  return {
    "harn-agents-protocol-version": protocolVersion,
    ...(cookie === undefined ? {} : { cookie }),
    ...(page === undefined ? {} : { "bridle-console-session": page }),
  };
}

async function statusWith(headers: Record<string, string>, path = "/v1/tasks"): Promise<number> {
  const response = await fetch(server.url + path, { headers });
  await response.body?.cancel();
  return response.status;
}

test("CON-2, CON-3 a key becomes a cookie that scripts cannot read, and works only with the page's header", async () => {
  const response = await post("/console/sign-in", { key: ` ${adminKey}\n` });
  const cookie = response.headers.get("set-cookie") ?? "";
  assert.match(cookie, /^bridle_console_\d+=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/);
  const text = await response.text();
  assert.ok(!text.includes(adminKey) && !cookie.includes(adminKey));
  const [session, other] = [await signIn(), await signIn()];
  assert.equal(await statusWith(headersOf(session)), 200);
  assert.equal(await statusWith(headersOf({ cookie: session.cookie })), 401);
  assert.equal(await statusWith(headersOf({ page: session.page })), 401);
  assert.equal(await statusWith(headersOf({ cookie: session.cookie, page: other.page })), 401);
  // A key that is presented as such is the one that counts.
  assert.equal(await statusWith({ ...headersOf(session), authorization: "Bearer wrong" }), 401);
});

test("CON-3 pages of other origins can neither sign in nor use a session", async () => {
  const session = await signIn();
  const foreign = { origin: "https://evil.example" };
  assert.equal((await post("/console/sign-in", { key: adminKey }, foreign)).status, 403);
  assert.equal(
    (await post("/v1/sessions", { workspace_id: "workspace_default" }, { ...headersOf(session), ...foreign }))
      .status,
    403,
  );
  const asked = {
    ...foreign,
    "access-control-request-method": "GET",
    "access-control-request-headers": "bridle-console-session",
  };
  const preflight = await fetch(`${server.url}/v1/tasks`, { method: "OPTIONS", headers: asked });
  assert.equal(preflight.headers.get("access-control-allow-origin"), null);
});

test("CON-3 a session ends by signing out, and at once when its key is revoked", async () => {
  const session = await signIn();
  const out = await post("/console/sign-out", undefined, headersOf(session));
  assert.equal(out.status, 204);
  assert.match(out.headers.get("set-cookie") ?? "", /=; Path=\/; Max-Age=0/);
  assert.equal(await statusWith(headersOf(session)), 401);

  const key = await admin.createKey({ scopes: ["tasks:read"] });
  const theirs = await signIn(key.key);
  assert.equal(await statusWith(headersOf(theirs)), 200);
  assert.equal(await statusWith(headersOf(theirs), "/v1/api-keys"), 403);
  assert.equal((await admin.call(`/v1/api-keys/${key.id}`, { method: "DELETE" })).status, 200);
  assert.equal(await statusWith(headersOf(theirs)), 401);
  assert.equal(await statusWith(headersOf(theirs), "/console/session"), 401);
});

test("CON-2 wrong keys and malformed requests are refused, and say so in the log of audits", async () => {
  assert.equal((await post("/console/sign-in", { key: "wrong" })).status, 401);
  assert.equal((await post("/console/sign-in", { link: "wrong" })).status, 401);
  for (const body of [{}, { key: "" }, { key: 1 }, { link: "x".repeat(5000) }, []]) {
    assert.equal((await post("/console/sign-in", body)).status, 400, JSON.stringify(body));
  }
});

test("CON-4 signing in and out is audited, and says who it is with which rights", async () => {
  const key = await admin.createKey({ actor: "ann", scopes: ["tasks:read", "events:read"] });
  const session = await signIn(key.key);
  const who: Json = await (
    await fetch(`${server.url}/console/session`, { headers: headersOf(session) })
  ).json();
  assert.deepEqual([who.actor, who.key_id, who.scopes], ["ann", key.id, ["events:read", "tasks:read"]]);
  await post("/console/sign-out", undefined, headersOf(session));
  const { body } = await admin.get("/v1/audit?actor=ann");
  assert.deepEqual(
    body.data.map(({ action, key_id, details }: Json) => [action, key_id, details]),
    [
      ["console.sign_out", key.id, {}],
      ["console.sign_in", key.id, { by: "key" }],
    ],
  );
});

test("CON-1 the console's files say what they are, may be kept for good, and nothing else is there", async () => {
  const page = await fetch(`${server.url}/runs/task_x`, { headers: { accept: "text/html" } });
  const html = await page.text();
  assert.match(
    page.headers.get("content-security-policy") ?? "",
    /^default-src 'none'; script-src 'self'; style-src 'self';/,
  );
  assert.doesNotMatch(page.headers.get("content-security-policy") ?? "", /unsafe|\*|https?:/);
  assert.equal(page.headers.get("cache-control"), "no-cache");
  assert.doesNotMatch(html, /<script(?![^>]* src=)|<style|\son\w+=|https?:/);
  const [, script = ""] = /src="([^"]+\.js)"/.exec(html) ?? [];
  const asset = await fetch(server.url + script);
  assert.match(asset.headers.get("content-type") ?? "", /^text\/javascript/);
  assert.match(asset.headers.get("cache-control") ?? "", /immutable/);
  const again = await fetch(server.url + script, {
    headers: { "if-none-match": asset.headers.get("etag") ?? "" },
  });
  assert.equal(again.status, 304);
  for (const path of [
    "/console/index.html",
    "/console/nothing.js",
    "/console/..%2f..%2fpackage.json",
    "/console/",
  ]) {
    assert.equal((await fetch(server.url + path)).status, 404, path);
  }
});
