/** Keys that are bound to agents, personas and addresses, on every surface. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../mcp/client.ts";
import { Client, errorOf, type Json, userMessage } from "../support/client.ts";
import { tokenFor } from "../support/oauth.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { openSocket, refusedUpgrade } from "../support/socket.ts";

let server: TestServer;
let admin: Client;
before(async () => {
  server = await startServer({ flags: ["--trust-proxy", "127.0.0.1", "--built-in-agents", "on"] });
  admin = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

async function boundTo(bounds: object): Promise<Client> {
  return admin.as((await admin.createKey({ ...bounds })).key);
}

async function names(client: Client, path: string, member = "name"): Promise<string[]> {
  return (await client.listAll(path)).map((item) => item[member]).sort();
}

async function custom(agent: string): Promise<Json> {
  const { status, body } = await admin.post("/v1/personas", {
    name: `custom ${agent}`,
    version: "1",
    entry_workflow: agent,
    description: "x",
    autonomy_tier: "act_auto",
    receipt_policy: "required",
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

const overOpvs = (text: string) => ({
  message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] },
});
const a2a = { "a2a-version": "1.0" };

test("KEY-4 a key bound to an agent submits to its personas, and to no others", async () => {
  const own = await custom("rehearsal");
  const bound = await boundTo({ agent_names: ["rehearsal"] });
  const { id } = await bound.createSession();
  const submit = (persona_id?: string) =>
    bound.post("/v1/tasks", { session_id: id, persona_id, input: userMessage("say hello") });
  for (const persona of ["persona_rehearsal", own.id])
    assert.equal((await submit(persona)).status, 202, persona);
  errorOf(await submit("persona_tour"), 404);
  errorOf(await submit(), 404);
  errorOf(
    await bound.post("/v1/sessions", { workspace_id: "workspace_default", persona_id: "persona_tour" }),
    404,
  );
});

test("KEY-4 a key bound to a persona submits to that one only", async () => {
  const own = await custom("rehearsal");
  const bound = await boundTo({ persona_ids: [own.id] });
  const { id } = await bound.createSession();
  const submit = (persona_id: string) =>
    bound.post("/v1/tasks", { session_id: id, persona_id, input: userMessage("say hello") });
  assert.equal((await submit(own.id)).status, 202);
  errorOf(await submit("persona_rehearsal"), 404);
  assert.deepEqual(await names(bound, "/v1/personas", "id"), [own.id]);
  assert.deepEqual(await names(bound, "/v1/agents"), [], "its own persona is no way to the agent itself");
});

test("KEY-4 a bound key lists and reads its own agents, personas, skills and tools only", async () => {
  const bound = await boundTo({ agent_names: ["echo"] });
  assert.deepEqual(await names(bound, "/v1/agents"), ["echo"]);
  assert.deepEqual(await names(bound, "/v1/personas", "id"), ["persona_default"]);
  errorOf(await bound.get("/v1/agents/rehearsal"), 404);
  errorOf(await bound.get("/v1/personas/persona_rehearsal"), 404);
  const skills = await bound.listAll("/v1/skills");
  assert.ok(
    skills.every(({ id }) => id.startsWith("echo/")),
    JSON.stringify(skills),
  );
});

test("KEY-4 a bound key does not see, answer or cancel tasks of other agents", async () => {
  const bound = await boundTo({ agent_names: ["echo"] });
  const { id } = await admin.createSession();
  const task = await admin.rehearse(id, "ask Well?");
  errorOf(await bound.get(`/v1/tasks/${task.id}`), 404);
  errorOf(await bound.answer(task.id, "yes"), 404);
  errorOf(await bound.post(`/v1/tasks/${task.id}/cancel`), 404);
  errorOf(await bound.post(`/v1/tasks/${task.id}/replay`, { mode: "exact" }), 404);
  const seen = await names(bound, `/v1/tasks?session_id=${id}`, "id");
  assert.deepEqual(seen, []);
});

test("KEY-4 over OPVS and MCP a bound key reaches its own agents only", async () => {
  const bound = await boundTo({ agent_names: ["rehearsal"] });
  const send = (agent: string) =>
    bound.post(`/opvs/agents/${agent}/rest/message:send`, overOpvs("say hello"), a2a);
  assert.equal((await send("rehearsal")).status, 200);
  assert.equal((await send("echo")).status, 404);
  const front = await bound.post("/opvs/rest/message:send", overOpvs("hello"), a2a);
  assert.equal(front.status, 404, "the default agent is another");
  await using mcp = await connect(bound, "2025-11-25", { key: bound.key });
  const { tools } = await mcp.client.listTools();
  const found = tools.map(({ name }) => name);
  assert.ok(found.includes("rehearsal") && !found.includes("echo"), String(found));
});

test("KEY-4 over a WebSocket a bound key submits to its own agents only", async () => {
  const bound = await boundTo({ agent_names: ["rehearsal"] });
  const { id } = await bound.createSession();
  await using socket = await openSocket(bound, `/v1/sessions/${id}/ws`);
  await socket.ask({ type: "hello" });
  const submit = { type: "task.submit", input: userMessage("say hello") };
  assert.equal((await socket.refusal(submit)).code, "resource_not_found");
  await socket.command({ ...submit, persona_id: "persona_rehearsal" });
});

test("KEY-4 a bound key cannot widen itself through personas or connectors", async () => {
  const bound = await boundTo({ agent_names: ["rehearsal"] });
  const change = { entry_workflow: "echo" };
  errorOf(await bound.call("/v1/personas/persona_rehearsal", { method: "PATCH", body: change }), 403);
  const connector = { provider: "webhook", workspace_id: "workspace_default" };
  errorOf(await bound.post("/v1/connectors", connector), 403);
  errorOf(await bound.post("/v1/connectors", { ...connector, target_persona_id: "persona_tour" }), 404);
  const own = await bound.createConnector({ target_persona_id: "persona_rehearsal" });
  const loose = { method: "PATCH", body: { target_persona_id: null } };
  errorOf(await bound.call(`/v1/connectors/${own.id}`, loose), 403);
});

test("KEY-4 a bound key writes nothing for the whole tenant and reads no audit log", async () => {
  const vault = { provider: "local", capabilities: ["read"] };
  const memory = {
    scope: "tenant",
    owner_id: "tenant_default",
    key: "k",
    content: "x",
    provenance: { actor: "test" },
  };
  for (const bounds of [{ agent_names: ["rehearsal"] }, { persona_ids: ["persona_rehearsal"] }]) {
    const bound = await boundTo(bounds);
    errorOf(await bound.post("/v1/skills", { name: "sum", description: "Adds numbers." }), 403);
    errorOf(await bound.post("/v1/workspaces", { name: "w", root: "/w" }), 403);
    errorOf(await bound.post("/v1/vaults", vault), 403);
    errorOf(await bound.post("/v1/memories", memory), 403);
    errorOf(await bound.get("/v1/audit"), 403);
  }
});

test("KEY-4 a bound key sees permission requests of its own agents only", async () => {
  const { id } = await admin.createSession();
  const { waiting_for } = await admin.rehearse(id, "approve pay");
  const requestId = waiting_for.permission_request_id;
  const path = `/v1/permission-requests?session_id=${id}`;
  const other = await boundTo({ agent_names: ["echo"] });
  assert.deepEqual(await names(other, path, "id"), []);
  const approve = () => other.post(`/v1/permission-requests/${requestId}/respond`, { approved: true });
  errorOf(await approve(), 404);
  assert.deepEqual(await names(await boundTo({ agent_names: ["rehearsal"] }), path, "id"), [requestId]);
  await admin.post(`/v1/permission-requests/${requestId}/respond`, { approved: true });
  errorOf(await approve(), 404);
});

test("KEY-4 bounds are inherited by keys and tokens", async () => {
  const parent = await admin.createKey({ agent_names: ["rehearsal", "echo"] });
  const bound = admin.as(parent.key);
  const key = { name: "child", actor: "child", scopes: ["personas:read"] };
  errorOf(await bound.post("/v1/api-keys", key), 403);
  errorOf(await bound.post("/v1/api-keys", { ...key, agent_names: ["tour"] }), 403);
  errorOf(await bound.post("/v1/api-keys", { ...key, agent_names: ["nobody"] }), 404);
  const child = await bound.createKey({ ...key, agent_names: ["echo"] });
  assert.deepEqual(await names(admin.as(child.key), "/v1/agents"), ["echo"]);
  assert.deepEqual(await names(admin.as(await tokenFor(admin, child)), "/v1/agents"), ["echo"]);
  const stranger = await admin.createKey();
  errorOf(await bound.get(`/v1/api-keys/${stranger.id}`), 404);
  errorOf(await bound.call(`/v1/api-keys/${stranger.id}`, { method: "DELETE" }), 404);
});

test("KEY-4 a bound administrator does not run the server", async () => {
  const bound = await boundTo({ agent_names: ["rehearsal"] });
  const key = {
    name: "x",
    actor: "x",
    scopes: ["admin"],
    tenant_id: "tenant_other",
    agent_names: ["rehearsal"],
  };
  errorOf(await bound.post("/v1/api-keys", key), 403);
  errorOf(await bound.post("/v1/vaults/rotate-master-key"), 403);
});

const from = (address: string) => ({ "x-forwarded-for": address });

test("KEY-5 from another address a bound key is nobody, on every way in", async () => {
  const ranges = ["10.1.0.0/16", "2001:db8::/32", "192.0.2.7"];
  const key = await admin.createKey({ allowed_cidrs: ranges });
  assert.deepEqual(key.allowed_cidrs, ["10.1.0.0/16", "2001:db8::/32", "192.0.2.7/32"]);
  const bound = admin.as(key.key);
  const read = async (address: string) => (await bound.get("/v1/sessions", from(address))).status;
  for (const address of ["10.1.2.3", "::ffff:10.1.2.3", "2001:db8::9", "192.0.2.7"])
    assert.equal(await read(address), 200, address);
  for (const address of ["10.2.0.1", "192.0.2.8", "2001:db9::1", "::1"])
    assert.equal(await read(address), 401, address);
  assert.equal(await read("10.1.2.3"), 200, "it works again from its own");
  errorOf(await bound.get("/v1/sessions"), 401);
  const away = from("10.2.0.1");
  errorOf(await refusedUpgrade(bound, "/v1/events/stream", { headers: away }), 401);
  assert.equal((await bound.post("/opvs/rest/message:send", overOpvs("x"), { ...a2a, ...away })).status, 401);
  assert.equal((await bound.post("/mcp", {}, away)).status, 401);
});

test("KEY-5 a key's tokens and tickets are bound to its addresses", async () => {
  const key = await admin.createKey({ allowed_cidrs: ["10.1.0.0/16"] });
  const home = from("10.1.0.1");
  const ask = (address: string) =>
    fetch(`${server.url}/oauth/token`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", ...from(address) },
      body: new URLSearchParams({
        grant_type: "client_credentials",
        client_id: key.id,
        client_secret: key.key,
      }),
    });
  assert.equal((await ask("10.2.0.1")).status, 401);
  const { access_token } = (await (await ask("10.1.0.1")).json()) as Json;
  const token = admin.as(access_token);
  assert.equal((await token.get("/v1/sessions", home)).status, 200);
  errorOf(await token.get("/v1/sessions", from("10.2.0.1")), 401);
  const { ticket } = (await admin.as(key.key).post("/v1/ws-tickets", {}, home)).body;
  const at = `/v1/events/stream?ticket=${ticket}`;
  errorOf(await refusedUpgrade(admin, at, { withKey: false, headers: from("10.2.0.1") }), 401);
});

test("KEY-5 a key bound to addresses makes only keys bound to some of them", async () => {
  const parent = await admin.createKey({ allowed_cidrs: ["10.1.0.0/16"] });
  const make = (allowed_cidrs?: unknown) =>
    admin.as(parent.key).call("/v1/api-keys", {
      body: { name: "x", actor: "x", scopes: ["sessions:read"], allowed_cidrs },
      headers: from("10.1.0.1"),
    });
  errorOf(await make(), 403);
  errorOf(await make(["10.0.0.0/8"]), 403);
  errorOf(await make(["10.1.2.0/24", "::/0"]), 403);
  errorOf(await make(["10.1.2.0/33"]), 400);
  assert.equal((await make(["10.1.2.0/24"])).status, 201);
});

test("KEY-5 a wrong address counts as a failure and is in the log", async () => {
  const key = await admin.createKey({ allowed_cidrs: ["10.1.0.0/16"] });
  errorOf(await admin.as(key.key).get("/v1/sessions", from("203.0.113.9")), 401);
  assert.match(server.output(), /auth\.failed/);
  assert.ok(!server.output().includes(key.key));
});

test("KEY-5 a key bound to addresses neither sees nor revokes a key that is not", async () => {
  const free = await admin.createKey({ scopes: ["sessions:read"] });
  const office = await admin.createKey({ allowed_cidrs: ["10.1.0.0/16"] });
  const desk = await admin.createKey({ allowed_cidrs: ["10.1.2.3"], scopes: ["sessions:read"] });
  const bound = admin.as(office.key);
  const seen: Json[] = (await bound.get("/v1/api-keys?limit=200", from("10.1.0.9"))).body.data;
  assert.deepEqual(
    [free, office, desk].map(({ id }) => seen.some((key) => key.id === id)),
    [false, true, true],
  );
  const path = `/v1/api-keys/${free.id}`;
  errorOf(await bound.call(path, { method: "DELETE", headers: from("10.1.0.9") }), 404);
  assert.equal((await admin.get(path)).body.revoked_at, null);
});

test("KEY-4 a refused request for another tenant's key does not make the tenant", async () => {
  const request = { name: "x", actor: "x", tenant_id: "tenant_never", scopes: ["sessions:read"] };
  errorOf(await admin.post("/v1/api-keys", { ...request, scopes: ["nothing:read"] }), 400);
  errorOf(await admin.post("/v1/api-keys", { ...request, actor: "system" }), 400);
  errorOf(await admin.post("/v1/tenants/tenant_never/erase"), 404);
  assert.equal((await admin.post("/v1/api-keys", request)).status, 201);
});
