/** What ends with a key, how soon, and what stays. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Code } from "@connectrpc/connect";
import { Client, errorOf, type Json } from "../support/client.ts";
import { callOptions, grpcClient, refusalOf } from "../support/grpc.ts";
import { startServer, type TestServer, withGrpc } from "../support/server.ts";
import { openSocket, refusedUpgrade } from "../support/socket.ts";
import { soon } from "../support/soon.ts";

/** The heartbeat, at which credentials are checked otherwise, is far away. */
let server: TestServer;
let admin: Client;
before(async () => {
  server = await startServer({ env: withGrpc, config: { heartbeatMs: 600_000 } });
  admin = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

async function revoke(id: string): Promise<Json> {
  const { status, body } = await admin.call(`/v1/api-keys/${id}`, { method: "DELETE" });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function openSse(client: Client, path: string): Promise<Promise<string>> {
  const response = await fetch(client.url + path, {
    headers: client.headers({ accept: "text/event-stream" }),
  });
  assert.equal(response.status, 200);
  return response.text();
}

test("KEY-10 revoking or rotating a key ends its SSE streams and WebSockets within a second", async () => {
  for (const end of [
    revoke,
    (id: string) => admin.post(`/v1/api-keys/${id}/rotate`, { overlap_seconds: 0 }),
  ]) {
    const { id, key } = await admin.createKey();
    const client = admin.as(key);
    const session = await client.createSession();
    const other = await admin.createSession();
    const sse = openSse(client, "/v1/events/stream");
    await using frames = await openSocket(client, "/v1/events/stream");
    await using socket = await openSocket(client, `/v1/sessions/${session.id}/ws`);
    await socket.ask({ type: "hello" });
    await using stranger = await openSocket(admin, `/v1/sessions/${other.id}/ws`);
    await stranger.ask({ type: "hello" });
    const opened = await Promise.race([sse, new Promise((resolve) => setImmediate(resolve))]);
    assert.equal(opened, undefined, "it is open");
    await end(id);
    await soon(Promise.all([sse, frames.closed, socket.closed]));
    assert.equal((await stranger.ask({ type: "ping" })).type, "pong", "others stay");
  }
});

test("KEY-10 what a host with a revoked key was asked for is asked of the next within a second", async () => {
  const { id, key } = await admin.createKey();
  const session = await admin.createSession();
  const path = `/v1/sessions/${session.id}/ws`;
  const hello = { type: "hello", host_capabilities: ["clipboard"] };
  await using host = await openSocket(admin.as(key), path);
  await host.ask(hello);
  await admin.submit(session.id, "host clipboard", { persona_id: "persona_rehearsal" });
  await host.until("request");
  await using next = await openSocket(admin, path);
  await next.ask(hello);
  // It does not even answer to the closing handshake.
  host.socket.pause();
  await revoke(id);
  const { capability } = await soon(next.until("request"));
  assert.equal(capability, "clipboard");
});

test("KEY-10 revoking a key ends its gRPC streams and tickets", async () => {
  const { id, key } = await admin.createKey();
  const client = admin.as(key);
  const session = await client.createSession();
  const task = await client.rehearse(session.id, "ask Well?");
  const { ticket } = (await client.post("/v1/ws-tickets")).body;
  const stream = grpcClient(server.grpcUrl()).subscribeToTask({ id: task.id }, callOptions({}, key));
  const reading = stream[Symbol.asyncIterator]();
  await reading.next();
  const ended = refusalOf(async () => {
    for (let next = await reading.next(); !next.done; next = await reading.next());
  });
  await revoke(id);
  assert.equal((await soon(ended)).code, Code.Unauthenticated);
  const at = `/v1/events/stream?ticket=${ticket}`;
  errorOf(await refusedUpgrade(admin, at, { withKey: false }), 401);
});

test("KEY-10 the answer names the keys, personas, schedules and connectors that a key made", async () => {
  const parent = await admin.createKey();
  const child = await admin.as(parent.key).createKey();
  const persona = (
    await admin.as(child.key).post("/v1/personas", {
      ...{ name: "nightly", version: "1", entry_workflow: "echo", description: "x" },
      ...{ autonomy_tier: "act_auto", receipt_policy: "required" },
      schedules: [{ cron: "0 3 * * *", input: { text: "go" } }],
    })
  ).body;
  const connector = await admin.as(parent.key).createConnector();
  const gone = await admin.as(parent.key).createConnector();
  await admin.call(`/v1/connectors/${gone.id}`, { method: "DELETE" });
  await admin.createConnector();
  const { made, revoked_at } = await revoke(parent.id);
  assert.notEqual(revoked_at, null);
  assert.deepEqual(made, {
    api_key_ids: [child.id],
    persona_ids: [persona.id],
    schedule_ids: persona.schedules.map(({ id }: Json) => id),
    connector_ids: [connector.id],
  });
  assert.equal((await admin.get(`/v1/personas/${persona.id}`)).status, 200, "it stays");
  assert.equal((await admin.get(`/v1/personas/${persona.id}`)).body.created_by_key_id, child.id);
});
