/** Optional members of requests: none is accepted and dropped. Made from the API's own description. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { defineAgent } from "bridle";
import { Client, isFinal, type Json, until } from "../support/client.ts";
import { createPersona } from "../support/policy.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

const writer = defineAgent({
  name: "writer",
  version: "1.0.0",
  run: async (ctx) => {
    const { outcome } = await ctx.effect("note", () => "noted");
    await ctx.files.write("note.txt", outcome);
    return outcome;
  },
});

let server: TestServer;
let client: Client;
let api: Json;
before(async () => {
  server = await startServer({ config: { agents: [writer] } });
  client = new Client(server);
  api = (await client.get("/openapi.json")).body;
});
after(() => server[Symbol.asyncDispose]());

function resolved(schema: Json): Json {
  return schema?.$ref === undefined ? schema : api.components.schemas[schema.$ref.split("/").at(-1)];
}

/** A value that the schema allows. */
function sample(given: Json): Json {
  const schema = resolved(given);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const [choice] = schema.anyOf ?? [];
  if (choice !== undefined) return sample(choice);
  switch (schema.type) {
    case "string":
      return schema.format === "date-time" ? "2099-01-01T00:00:00Z" : "x".repeat(schema.minLength ?? 1);
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return true;
    case "array":
      return Array.from({ length: schema.minItems ?? 0 }, () => sample(schema.items));
    case "object": {
      const needed = Object.keys(schema.properties ?? {}).slice(0, schema.minProperties ?? 0);
      const names: string[] = [...new Set<string>([...(schema.required ?? []), ...needed])];
      return Object.fromEntries(names.map((name) => [name, sample(schema.properties[name])]));
    }
    default:
      return {};
  }
}

/** A value that no schema but one of anything allows: a number where there may be anything but numbers, and a text otherwise. */
function wrong(schema: Json): Json {
  return JSON.stringify(resolved(schema)).includes('"integer"') ||
    JSON.stringify(resolved(schema)).includes('"number"')
    ? "wrong"
    : 12345;
}

function takesAnything(schema: Json): boolean {
  const { type, anyOf, enum: choices, const: only } = resolved(schema);
  return type === undefined && anyOf === undefined && choices === undefined && only === undefined;
}

/** Bodies that are read in a way of their own: other checks come first. */
const readApart = /import|receipts\/verify$|deliveries$|admin-key|pairings/;

describe("every optional member", () => {
  test("TAX-9 a value of the wrong kind is refused with an error that names the member", async () => {
    let count = 0;
    for (const [path, operations] of Object.entries<Json>(api.paths)) {
      for (const [method, { requestBody }] of Object.entries<Json>(operations)) {
        const body = resolved(requestBody?.content?.["application/json"]?.schema);
        if (body?.properties === undefined || readApart.test(path)) continue;
        const required: string[] = body.required ?? [];
        const base = Object.fromEntries(required.map((name) => [name, sample(body.properties[name])]));
        for (const [name, schema] of Object.entries<Json>(body.properties)) {
          if (required.includes(name) || takesAnything(schema)) continue;
          const url = path.replaceAll(/\{\w+\}/g, "unknown");
          const answer = await client.call(url, {
            method: method.toUpperCase(),
            body: { ...base, [name]: wrong(schema) },
          });
          const where = `${method} ${path} ${name}: ${JSON.stringify(answer.body)}`;
          assert.equal(answer.status, 400, where);
          assert.equal(answer.body.error.code, "invalid_request", where);
          assert.ok(String(answer.body.error.param).startsWith(name), where);
          count += 1;
        }
      }
    }
    assert.ok(count > 100, `${count} members`);
  });

  /** What each kind of resource is created with: all that has to be, and every optional member with a value of its own. */
  const expires_at = "2099-01-01T00:00:00.000Z";
  const metadata = { label: "blue" };
  const creations: Record<string, Json> = {
    "/v1/workspaces": { name: "Two", root: "two", capabilities: ["files:read"], metadata },
    "/v1/sessions": {
      workspace_id: "workspace_default",
      persona_id: "persona_writer",
      expires_at,
      metadata,
    },
    "/v1/personas": {
      name: "Full",
      version: "1.0.0",
      entry_workflow: "writer",
      description: "All of it.",
      autonomy_tier: "suggest",
      receipt_policy: "required",
      owner: "ada",
      tools: ["*"],
      capabilities: ["files:*"],
      handoffs: [],
      model_policy: { allowed_models: ["a/b"] },
      module_ref: "m".repeat(500),
      lists: "strict",
      metadata,
    },
    "/v1/skills": {
      name: "Skill",
      description: "Does it.",
      input_schema: { type: "object" },
      output_schema: { type: "string" },
      source: "elsewhere",
      version: "2",
      capabilities: ["files:read"],
      requires_approval: true,
      deprecated: true,
      metadata,
    },
    "/v1/artifacts": {
      kind: "dataset",
      mime_type: "text/csv",
      visibility: "internal",
      uri: "https://data.example.com/a.csv",
      sha256: "a".repeat(64),
      workspace_id: "workspace_default",
      metadata,
    },
    "/v1/sessions/{session}/branches": {
      kind: "session",
      base_ref: "r".repeat(500),
      worktree_uri: "file:///work/tree",
      metadata,
    },
  };

  for (const [path, body] of Object.entries(creations)) {
    test(`TAX-10 ${path} keeps every member that it was created with`, async () => {
      const { id } = await client.createSession();
      const { status, body: made } = await client.post(path.replace("{session}", id), body);
      assert.equal(status, 201, JSON.stringify(made));
      for (const [name, value] of Object.entries(body)) assert.deepEqual(made[name], value, name);
    });
  }
});

describe("members that are not served", () => {
  const refused: [string, string, Json][] = [
    ["/v1/workspaces", "network_policy", { egress: "none" }],
    ["/v1/workspaces", "sandbox_backend", "vm"],
    ["/v1/workspaces", "image", "debian"],
    ["/v1/workspaces", "packages", ["git"]],
    ["/v1/workspaces", "host", "host_1"],
    ["/v1/workspaces", "repository", "https://git.example.com/a"],
    ["/v1/workspaces", "connectors", ["connector_1"]],
    ["/v1/personas", "context_packs", ["none"]],
    ["/v1/personas", "evals", ["none"]],
    ["/v1/personas", "rollout_policy", { percent: 0 }],
    ["/v1/personas", "triggers", [{ connector_id: "connector_none" }]],
  ];
  const bases: Record<string, Json> = {
    "/v1/workspaces": { name: "Three", root: "three" },
    "/v1/personas": {
      name: "P",
      version: "1",
      entry_workflow: "writer",
      description: "",
      autonomy_tier: "act_auto",
      receipt_policy: "required",
    },
  };
  for (const [path, name, value] of refused) {
    test(`TAX-11 ${name} of ${path} is refused by its name, and nothing is made`, async () => {
      const before = (await client.listAll(path)).length;
      const { status, body } = await client.post(path, { ...bases[path], [name]: value });
      assert.deepEqual([status, body.error.code], [422, "policy_violation"], JSON.stringify(body));
      assert.ok(body.error.param.startsWith(name));
      assert.equal((await client.listAll(path)).length, before);
    });
  }
});

describe("sessions", () => {
  test("TAX-12 a paused session holds its tasks until it is resumed", async () => {
    const { id } = await client.createSession();
    const patch = (body: object) => client.call(`/v1/sessions/${id}`, { method: "PATCH", body });
    assert.equal((await patch({ state: "PAUSED" })).body.state, "PAUSED");
    const task = { session_id: id, input: { text: "hello" } };
    const { status, body: held } = await client.post("/v1/tasks", task);
    assert.deepEqual([status, held.status], [202, "SUBMITTED"]);
    // What another session is given meanwhile is done, and this is still not.
    const other = await client.createSession();
    const { body: free } = await client.post("/v1/tasks", { ...task, session_id: other.id });
    await client.untilTask(free.id, isFinal);
    assert.equal((await client.get(`/v1/tasks/${held.id}`)).body.status, "SUBMITTED");
    const { body: why } = await client.get(`/v1/tasks/${held.id}/why`);
    assert.deepEqual([why.waits_for, why.about], ["session", [{ object: "session", id }]]);
    assert.equal((await patch({ state: "ACTIVE" })).body.state, "ACTIVE");
    assert.equal((await client.untilTask(held.id, isFinal)).status, "COMPLETED");
    await client.post(`/v1/sessions/${id}/close`);
    assert.equal((await patch({ state: "ACTIVE" })).body.error.code, "invalid_state_transition");
  });

  test("TAX-12 a session is closed when its time is over", async () => {
    const expires_at = new Date(Date.now() + 300).toISOString();
    const { id } = await client.createSession({ expires_at });
    const read = async () => (await client.get(`/v1/sessions/${id}`)).body;
    const closed = await until(read, ({ state }: Json) => state === "CLOSED");
    assert.equal(closed.expires_at, expires_at);
    const past = { workspace_id: "workspace_default", expires_at: "2020-01-01T00:00:00Z" };
    assert.equal((await client.post("/v1/sessions", past)).body.error.param, "expires_at");
  });
});

describe("what a task may do", () => {
  async function work(workspaceId: string, body: object = {}): Promise<Json> {
    const persona = await createPersona(client, { entry_workflow: "writer" });
    const session = await client.createSession({ workspace_id: workspaceId });
    const { body: task } = await client.post("/v1/tasks", {
      session_id: session.id,
      persona_id: persona.id,
      input: {},
      ...body,
    });
    return await client.untilTask(task.id, (at) => isFinal(at) || at.status === "AUTH_REQUIRED");
  }

  test("TAX-13 a workspace without files:write is written by nobody", async () => {
    const { body: workspace } = await client.post("/v1/workspaces", {
      name: "Read only",
      root: "read-only",
      capabilities: ["files:read"],
    });
    const task = await work(workspace.id);
    assert.equal(task.status, "FAILED");
    assert.match(task.failure.message, /files:write/);
    const { status, body } = await client.call(`/v1/workspaces/${workspace.id}/files`, {
      method: "PUT",
      body: { path: "a.txt", content: "x" },
    });
    assert.deepEqual([status, body.error?.code], [422, "policy_violation"], JSON.stringify(body));
  });

  test("TAX-13 a skill that requires approval has its effects approved", async () => {
    const skill = { name: "Careful", description: "Careful.", requires_approval: true };
    const { body: made } = await client.post("/v1/skills", skill);
    const task = await work("workspace_default", { metadata: { skill_id: made.id } });
    assert.equal(task.status, "AUTH_REQUIRED");
    assert.equal((await work("workspace_default")).status, "COMPLETED");
  });
});

test("TAX-14 the card has the A2A card and all that is served; the runtime says the retention", async () => {
  const { body: card } = await client.get("/v1/agent-card");
  assert.equal(card.a2a_card.name, "echo");
  assert.equal(card.a2a_card.signatures.length, 2);
  assert.equal(card.a2a_card.preferredTransport, "JSONRPC");
  const transports = card.harn_interfaces.map(({ transport }: Json) => transport);
  assert.deepEqual(transports, ["rest", "sse", "websocket", "a2a", "mcp", "openharness"]);
  assert.match(card.harn_interfaces[2].url, /^ws:.*\/v1\/sessions\/\{session_id\}\/ws$/);
  assert.equal(card.public_url, server.url);
  assert.ok(card.capabilities.includes("receipts"));
  assert.equal((await client.get("/v1/runtime")).body.retention_days, null);
});

test("TAX-16 an outcome says what its receipt says: hand-offs, cost and metrics", async () => {
  const session = await client.createSession();
  const persona_id = "persona_writer";
  const { body: task } = await client.post("/v1/tasks", { session_id: session.id, persona_id, input: {} });
  const { outcome_id, receipt_id } = await client.untilTask(task.id, isFinal);
  const { body: outcome } = await client.get(`/v1/outcomes/${outcome_id}`);
  const { body: receipt } = await client.get(`/v1/receipts/${receipt_id}`);
  assert.deepEqual(outcome.cost, receipt.cost);
  assert.deepEqual(outcome.handoffs, receipt.side_effects.a2a_handoffs);
  assert.equal(outcome.metrics.tool_calls, receipt.autonomy_budget.consumed.tool_calls);
  assert.ok(outcome.metrics.tool_calls > 0 && outcome.metrics.queued_ms >= 0);
});

test("TAX-16 an artifact says which branch it was made on", async () => {
  const { id, branch_id } = await client.createSession();
  const { body: fork } = await client.post(`/v1/sessions/${id}/fork`, {});
  const described = { kind: "dataset", mime_type: "text/csv", visibility: "public" };
  const { body: made } = await client.post("/v1/artifacts", { ...described, session_id: fork.id });
  assert.notEqual(fork.branch_id, branch_id);
  assert.equal(made.branch_id, fork.branch_id);
  const { body: main } = await client.post("/v1/artifacts", { ...described, session_id: id });
  assert.equal(main.branch_id, branch_id);
});

test("TAX-10 the answer to a permission request keeps its metadata", async () => {
  const session = await client.createSession();
  const input = { role: "user", parts: [{ type: "text", text: "approve deploy", visibility: "public" }] };
  const persona_id = "persona_rehearsal";
  const { body: task } = await client.post("/v1/tasks", { session_id: session.id, persona_id, input });
  await client.untilTask(task.id, ({ status }: Json) => status === "AUTH_REQUIRED");
  const { body } = await client.get(`/v1/tasks/${task.id}/permission-requests`);
  const metadata = { ticket: "T-1" };
  const respond = `/v1/permission-requests/${body.data[0].id}/respond`;
  const answered = await client.post(respond, { approved: true, metadata });
  assert.deepEqual(answered.body.response.metadata, metadata);
});

test("TAX-12 a paused session holds its tasks over a restart", async () => {
  await using data = await temporaryDirectory();
  const ids = { session: "", task: "" };
  {
    await using first = await startServer({ data: data.path });
    const before = new Client(first);
    ids.session = (await before.createSession()).id;
    await before.call(`/v1/sessions/${ids.session}`, { method: "PATCH", body: { state: "PAUSED" } });
    ids.task = (await before.post("/v1/tasks", { session_id: ids.session, input: { text: "hi" } })).body.id;
  }
  await using second = await startServer({ data: data.path });
  const after = new Client(second);
  const { id: session_id } = await after.createSession();
  const { body: free } = await after.post("/v1/tasks", { session_id, input: { text: "hi" } });
  await after.untilTask(free.id, isFinal);
  assert.equal((await after.get(`/v1/tasks/${ids.task}`)).body.status, "SUBMITTED");
  await after.call(`/v1/sessions/${ids.session}`, { method: "PATCH", body: { state: "ACTIVE" } });
  assert.equal((await after.untilTask(ids.task, isFinal)).status, "COMPLETED");
});
