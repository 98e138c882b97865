/** SEC-M8: without a credential nothing is read, on any surface. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { defineAgent } from "../../src/index.ts";
import { Client, userMessage } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { openSession } from "../support/socket.ts";
import { answerBeforeBody } from "../support/unfinished.ts";

const open = defineAgent({
  name: "open",
  version: "1.0.0",
  card: { public: true },
  run: async () => "hello",
});

let server: TestServer;
let withPublic: TestServer;
before(async () => {
  server = await startServer();
  withPublic = await startServer({ config: { agents: [open] } });
});
after(async () => {
  await Promise.all([server[Symbol.asyncDispose](), withPublic[Symbol.asyncDispose]()]);
});

const addresses = [
  ...["/opvs/rpc", "/a2a/rpc", "/opvs/agents/echo/rpc", "/opvs/rest/message:send", "/openharness/v1"],
  ...["/v1/tasks", "/v1/sessions/import", "/mcp", "/harp/v1/artifacts"],
];

for (const address of addresses) {
  test(`SEC-M8 ${address} refuses an unknown caller before the body has come`, async () => {
    const wrong: Record<string, string>[] = [{}, { authorization: "Bearer wrong" }];
    for (const headers of wrong)
      assert.equal(await answerBeforeBody(`${server.url}${address}`, { headers }), 401);
  });
}

test("SEC-M8 whoever signs in to the console, or out, sends little", async () => {
  for (const address of ["/console/sign-in", "/console/sign-out", "/console/crash"])
    assert.equal(await answerBeforeBody(`${server.url}${address}`, {}), 413, address);
});

test("SEC-M8 where an agent is public, callers without credentials send little", async () => {
  const url = `${withPublic.url}/opvs/agents/open/rpc`;
  assert.equal(await answerBeforeBody(url, {}), 413);
  assert.equal(await answerBeforeBody(url, { headers: { authorization: "Bearer wrong" } }), 401);
});

test("SEC-M8 a key without tasks:write sends little where only the body names the operation", async () => {
  const admin = new Client(server);
  const reader = await admin.withScopes("tasks:read");
  const headers = { ...reader.headers(), "a2a-version": "1.0" };
  for (const address of ["/opvs/rpc", "/a2a/agents/echo/rpc", "/mcp"]) {
    assert.equal(await answerBeforeBody(`${server.url}${address}`, { headers }), 413, address);
  }
  const call = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} };
  const { status, body } = await reader.post("/opvs/rpc", call, { "a2a-version": "1.0" });
  assert.equal(status, 200);
  assert.ok(Array.isArray(body.result.tasks), JSON.stringify(body));
});

test("SEC-M8 a long frame of a key that sends no content is not parsed", async () => {
  const admin = new Client(server);
  const session = await admin.createSession();
  const reader = await admin.withScopes("events:read", "sessions:read");
  await using socket = await openSession(reader, session.id);
  socket.send({ type: "message.append", id: 1, message: userMessage("x".repeat(70_000)) });
  const { id, error } = await socket.until("error");
  assert.deepEqual([id, error.code], [undefined, "payload_too_large"]);
  const denied = await socket.refusal({ type: "message.append", message: "not even a message" });
  assert.equal(denied.details.required_scope, "messages:write");
});
