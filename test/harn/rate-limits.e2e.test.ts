/** How many requests one key may send, whichever protocol it speaks. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "../support/client.ts";
import { startServer } from "../support/server.ts";
import { openSession } from "../support/socket.ts";

test("SEC-6 a key that used up its rate is 429 on every protocol, and others go on", async () => {
  // Given a limit, when one key has sent as many, then every protocol tells it to wait, and another key is answered.
  await using server = await startServer({ flags: ["--rate-limit", "10"] });
  const admin = new Client(server);
  const client = await admin.withScopes("sessions:read", "sessions:write", "tasks:read");
  const first = await client.get("/v1/sessions");
  assert.equal(first.status, 200);
  assert.equal(first.headers.get("ratelimit-policy"), '"requests";q=10;w=60');
  assert.match(first.headers.get("ratelimit") ?? "", /^"requests";r=9;t=\d+$/);
  for (let n = 0; n < 9; n++) assert.equal((await client.get("/v1/sessions")).status, 200);

  const refused = await client.get("/v1/sessions");
  assert.deepEqual([refused.status, refused.body.error.code], [429, "rate_limited"]);
  assert.ok(Number(refused.headers.get("retry-after")) > 0);
  assert.match(refused.headers.get("ratelimit") ?? "", /r=0/);
  const a2a = await client.call("/opvs/rpc", {
    body: { jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} },
    headers: { "a2a-version": "1.0" },
  });
  assert.match(JSON.stringify(a2a.body), /requests a minute/);
  for (const path of ["/openharness/v1", "/mcp"]) {
    assert.equal((await client.call(path, { body: {} })).status, 429, path);
  }
  assert.equal((await admin.get("/v1/sessions")).status, 200);
});

test("SEC-6 a request over OPVS counts once", async () => {
  // Given a limit that takes seconds to be given back, when one is sent between two others, then it counts as one.
  await using server = await startServer({ flags: ["--rate-limit", "20"] });
  const client = new Client(server);
  const left = async () =>
    Number(/r=(\d+)/.exec((await client.get("/v1/runtime")).headers.get("ratelimit") ?? "")?.[1]);
  const before = await left();
  const listed = await client.call("/opvs/rpc", {
    body: { jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} },
    headers: { "a2a-version": "1.0" },
  });
  assert.ok("result" in listed.body, JSON.stringify(listed.body));
  assert.equal(before - (await left()), 2);
});

test("SEC-6 frames of a WebSocket count as requests", async () => {
  await using server = await startServer({ flags: ["--rate-limit", "1000"] });
  const client = new Client(server);
  const left = async () =>
    Number(/r=(\d+)/.exec((await client.get("/v1/runtime")).headers.get("ratelimit") ?? "")?.[1]);
  const { id } = await client.createSession();
  const before = await left();
  await using socket = await openSession(client, id);
  const message = { role: "user", parts: [{ type: "text", text: "x", visibility: "public" }] };
  for (let n = 0; n < 5; n++) await socket.command({ type: "message.append", message });
  assert.ok((await left()) <= before - 6);
});
