/** SEC-H5: no way around a strict persona: sessions bind, default personas can go, and demonstrations stay at home. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect, textOf } from "../mcp/client.ts";
import { JsonRpcWire, message } from "../opvs/wire.ts";
import { Client, errorOf, isFinal, type Json, userMessage } from "../support/client.ts";
import { createPersona } from "../support/policy.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let client: Client;
let strict: Json;

before(async () => {
  server = await startServer();
  client = new Client(server);
  strict = await createPersona(client, {
    name: "Strict",
    entry_workflow: "rehearsal",
    autonomy_tier: "act_with_approval",
    tools: [],
    lists: "strict",
  });
});

after(() => server[Symbol.asyncDispose]());

async function caller(): Promise<Client> {
  const scopes = ["tasks:write", "tasks:read", "sessions:write", "sessions:read", "messages:read"];
  return client.as((await client.createKey({ actor: "mallory", scopes })).key);
}

function submit(who: Client, sessionId: string, fields: object = {}) {
  return who.post("/v1/tasks", { session_id: sessionId, input: userMessage("effect pay"), ...fields });
}

describe("A session that is bound to a persona", () => {
  test("SEC-H5 a task in it cannot name the agent's default persona, nor any other", async () => {
    const mallory = await caller();
    const session = await mallory.createSession({ persona_id: strict.id });
    for (const persona_id of ["persona_rehearsal", "persona_default"]) {
      const error = errorOf(await submit(mallory, session.id, { persona_id }), 422);
      assert.equal(error.details.rule, "session_persona");
      assert.match(error.message, new RegExp(`bound to persona ${strict.id}`));
    }
    const own = await submit(mallory, session.id, { persona_id: strict.id });
    assert.equal(own.body.persona_id, strict.id);
    const child = { persona_id: "persona_rehearsal", parent_task_id: own.body.id };
    assert.notEqual((await submit(mallory, session.id, child)).status, 202, "a parent is no way around");
  });

  test("SEC-H5 over OPVS and MCP its tasks run under that persona, and other agents are refused", async () => {
    const mallory = await caller();
    const session = await mallory.createSession({ persona_id: strict.id });
    const opvs = new JsonRpcWire(server.url);
    const send = (agent: string) =>
      opvs.call(
        "SendMessage",
        { message: message("say hello", { contextId: session.id }) },
        { agent, key: mallory.key },
      );
    const { result } = await send("rehearsal");
    const task = (await mallory.get(`/v1/tasks/${result.task.id}`)).body;
    assert.equal(task.persona_id, strict.id);
    assert.match((await send("echo")).error?.message ?? "", /bound to persona/);

    await using mcp = await connect(server, "2025-11-25", { key: mallory.key });
    const refused = await mcp.call("echo", { text: "hello", session_id: session.id });
    assert.match(textOf(refused), /bound to persona/);
  });
});

describe("A default persona", () => {
  test("SEC-H5 takes no tasks once disabled; surfaces use the only other persona, or say what to do", async () => {
    const disable = (id: string, disabled: boolean) =>
      client.call(`/v1/personas/${id}`, { method: "PATCH", body: { disabled } });
    assert.equal((await disable("persona_rehearsal", true)).body.disabled, true);
    const session = await client.createSession();
    const error = errorOf(await submit(client, session.id, { persona_id: "persona_rehearsal" }), 422);
    assert.match(error.message, /persona_rehearsal is disabled/);

    await using mcp = await connect(server, "2025-11-25");
    const text = await mcp.call("rehearsal", { text: "say hello" });
    assert.match(JSON.stringify(text), /hello/);
    const { data } = (await client.get("/v1/tasks?agent=rehearsal&limit=1")).body;
    assert.equal(data[0].persona_id, strict.id, "the other persona of the agent");

    await disable(strict.id, true);
    const opvs = new JsonRpcWire(server.url);
    const sent = await opvs.call("SendMessage", { message: message("say hi") }, { agent: "rehearsal" });
    assert.match(sent.error?.message ?? "", /no one persona for the agent "rehearsal"/);
    await disable("persona_rehearsal", false);
    await disable(strict.id, false);
  });

  test("SEC-H5 is not made with defaultPersonas off, and a task then names its persona", async () => {
    await using bare = await startServer({ config: { defaultPersonas: false } });
    const there = new Client(bare);
    assert.deepEqual((await there.get("/v1/personas")).body.data, []);
    const session = await there.createSession();
    assert.match(errorOf(await submit(there, session.id), 400).message, /no default persona/);
    const { id } = await createPersona(there, { entry_workflow: "echo" });
    const task = await submit(there, session.id, { persona_id: id });
    assert.equal((await there.untilTask(task.body.id, isFinal)).status, "COMPLETED");
  });
});

test("SEC-H5 lists: strict allows nothing that is not named", async () => {
  const session = await client.createSession({ persona_id: strict.id });
  for (const line of ["file notes.txt hello", "memory write x y", "secret NAME"]) {
    const { id } = await client.submit(session.id, line);
    const task = await client.untilTask(id, isFinal);
    assert.equal(task.failure?.code, "policy_violation", `${line}: ${JSON.stringify(task.failure)}`);
  }
});

test("SEC-H5 rehearsal and tour are loaded on loopback only, unless the operator says otherwise", async () => {
  const loaded = async (config: object) => {
    await using other = await startServer({ config });
    const { data } = (await new Client(other).get("/v1/agents")).body;
    return data.map(({ name }: Json) => name).sort();
  };
  const [all, few] = [
    ["assistant", "echo", "gate", "rehearsal", "tour"],
    ["assistant", "echo", "gate"],
  ];
  assert.deepEqual(await loaded({}), all);
  assert.deepEqual(await loaded({ builtInAgents: "off" }), few);
  assert.deepEqual(await loaded({ trustedProxies: ["127.0.0.1"] }), few, "others reach it through the proxy");
  assert.deepEqual(await loaded({ host: "0.0.0.0", insecureHttp: true }), few);
  assert.deepEqual(await loaded({ host: "0.0.0.0", insecureHttp: true, builtInAgents: "on" }), all);
});
