/** What receipts say about the network, the trace and the models of a run, against servers that count what reaches them. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { after, before, test } from "node:test";
import { defineAgent } from "bridle";
import { Client, type Json } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

/** Reaches out in every way that code of an agent can. */
const reacher = defineAgent({
  name: "reacher",
  version: "1.0.0",
  async run(ctx) {
    const [http, tcp] = ctx.text.split(" ");
    await ctx.tool("http.get", { url: `${http}/secret-path?token=abc` });
    await ctx.step("twice", async () => {
      await (await fetch(`${http}/a`)).text();
      await (await fetch(`${http}/b`)).text();
    });
    await ctx.step("socket", async () => {
      const socket = connect(Number(tcp), "127.0.0.1");
      await once(socket, "connect");
      socket.destroy();
    });
    await ctx.step("quiet", () => 1);
    await ctx.artifact({ name: "notes.txt", text: "some notes" });
    await ctx.step("complete", () => "Hello.", { kind: "llm", model: "acme/large" });
    return "done";
  },
});

const web = createServer((_request, response) => response.end("hello"));
const raw = createTcpServer((socket) => socket.on("error", () => {}));
let server: TestServer;
let client: Client;

before(async () => {
  web.listen(0, "127.0.0.1");
  raw.listen(0, "127.0.0.1");
  await Promise.all([once(web, "listening"), once(raw, "listening")]);
  const config = { agents: [reacher], allowPrivateAddresses: true };
  server = await startServer({ config });
  client = new Client(server);
  await client.call("/v1/personas/persona_reacher", { method: "PATCH", body: { tools: ["*", "http.get"] } });
});
after(async () => {
  await server[Symbol.asyncDispose]();
  web.close();
  raw.close();
});

const portOf = (of: { address(): unknown }) => (of.address() as AddressInfo).port;

async function run(headers: Record<string, string> = {}): Promise<Json> {
  const session = await client.createSession();
  const parts = [
    { type: "text", text: `http://127.0.0.1:${portOf(web)} ${portOf(raw)}`, visibility: "public" },
  ];
  const body = { session_id: session.id, persona_id: "persona_reacher", input: { role: "user", parts } };
  const { body: task } = await client.post("/v1/tasks", body, { prefer: "wait=30", ...headers });
  assert.equal(task.status, "COMPLETED", JSON.stringify(task));
  return task;
}

async function receiptOf({ receipt_id }: Json): Promise<Json> {
  return (await client.get(`/v1/receipts/${receipt_id}`)).body;
}

test("RCP-16 network_egress lists the destinations of each step, and no paths", async () => {
  const receipt = await receiptOf(await run());
  const host = "127.0.0.1";
  const [http, tcp] = [portOf(web), portOf(raw)];
  const entry = (step: string, purpose: string, protocol: string, port: number, requests: number) => ({
    destination: `${protocol}://${host}:${port}`,
    purpose,
    metadata: { step, protocol, host, port, requests },
  });
  assert.deepEqual(receipt.side_effects.network_egress, [
    entry("tool:http.get:1", "tool call: http.get", "http", http, 1),
    entry("step:twice:1", "code of the agent: twice", "http", http, 2),
    entry("step:socket:1", "code of the agent: socket", "tcp", tcp, 1),
  ]);
  assert.ok(!JSON.stringify(receipt).includes("secret-path"));
});

test("RCP-17 identifiers name the trace that the task came with", async () => {
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const task = await run({ traceparent: `00-${traceId}-b7ad6b7169203331-01` });
  assert.equal((await receiptOf(task)).identifiers.trace_id, traceId);
  const other = await receiptOf(await run());
  assert.match(other.identifiers.trace_id, /^[0-9a-f]{32}$/);
  assert.notEqual(other.identifiers.trace_id, traceId);
});

test("RCP-18 a replay's receipt names the model that was recorded, and no egress", async () => {
  const task = await run();
  const before = await receiptOf(task);
  assert.deepEqual(before.model_route.chosen_model, {
    provider: "acme",
    model: "large",
    reason: "declared by the agent's own code, which called it",
  });
  const { body: replay } = await client.post(`/v1/tasks/${task.id}/replay`, {}, { prefer: "wait=30" });
  const done = await client.untilTask(replay.id, ({ status }) => status === "COMPLETED");
  const receipt = await receiptOf(done);
  assert.equal(receipt.model_route.chosen_model.model, "large");
  assert.equal(receipt.model_route.route_policy_reason, "replayed from recorded provider response");
  assert.deepEqual(receipt.side_effects.network_egress, []);
  assert.equal(receipt.identifiers.trace_id, before.identifiers.trace_id);
});

test("RCP-20 an outcome, an event, an artifact and a tool call each get one receipt that verifies", async () => {
  const task = await run();
  const [event] = (await client.get(`/v1/tasks/${task.id}/events?limit=1`)).body.data;
  const [artifact] = (await client.get(`/v1/artifacts?task_id=${task.id}`)).body.data;
  const subjects = [
    { object: "outcome", id: task.outcome_id },
    { object: "event", id: event.id },
    { object: "artifact", id: artifact.id },
    { object: "tool_call", id: `${task.id}/step:twice:1` },
  ];
  for (const subject of subjects) {
    const answers = await Promise.all([1, 2].map(() => client.post("/v1/receipts", { subject })));
    const [first, second] = answers.map(({ status, body }) => {
      assert.equal(status, 201, JSON.stringify(body));
      return body;
    });
    assert.deepEqual(first, second);
    assert.deepEqual(first.subject, subject);
    assert.equal(first.identifiers.task_id, task.id);
    const verified = await client.post(`/v1/receipts/${first.receipt_id}/verify`);
    assert.equal(verified.body.valid, true, JSON.stringify(verified.body));
    const proof = await client.get(`/v1/receipts/${first.receipt_id}/proof`);
    assert.equal(proof.body.receipt_hash, first.chain.receipt_hash);
  }
  const { body: call } = await client.post("/v1/receipts", { subject: subjects[3] });
  assert.deepEqual(
    call.side_effects.tool_calls.map(({ tool, status }: Json) => [tool, status]),
    [["twice", "succeeded"]],
  );
  assert.equal(call.side_effects.network_egress.length, 1);
  const { body: listed } = await client.get(`/v1/tasks/${task.id}/receipts`);
  assert.equal(listed.data.length, 5);
  const alias = await client.post("/v1/receipts", { subject: { ...subjects[3], object: "tool_use" } });
  assert.deepEqual(alias.body, call);
});

test("RCP-20 what is not there, not of a task or not the caller's gets no receipt", async () => {
  const task = await run();
  const ask = (object: string, id: string, from = client) =>
    from.post("/v1/receipts", { subject: { object, id } });
  for (const [object, id, status] of [
    ["task", task.id, 400],
    ["tool_call", "step:twice:1", 400],
    ["tool_call", `${task.id}/step:thrice:1`, 404],
    ["event", "evt_9999999999999999", 404],
    ["outcome", task.id, 404],
    ["artifact", "artifact_none", 404],
  ] as const) {
    assert.equal((await ask(object, id)).status, status, `${object} ${id}`);
  }
  const { data } = (await client.get("/v1/events?workspace_id=workspace_default&limit=1")).body;
  assert.equal((await ask("event", data[0].id)).body.error.param, "subject.id");
  const writer = await client.withScopes("receipts:write", "outcomes:read");
  const before = (await client.get(`/v1/tasks/${task.id}/receipts`)).body.data.length;
  assert.equal((await ask("outcome", task.outcome_id, writer)).status, 403);
  assert.equal((await client.get(`/v1/tasks/${task.id}/receipts`)).body.data.length, before);
  const reader = await client.withScopes("receipts:read", "tasks:read");
  assert.equal((await ask("tool_call", `${task.id}/step:twice:1`, reader)).status, 403);
});
