/** The agents that are loaded, and the tasks that they were given. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { showingAgents } from "../support/agents-server.ts";
import { Client, errorOf, type Json } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer({ config: { agents: showingAgents({ AGENT_VERSIONS: "1.0.0,2.0.0,1.5.0" }) } });
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

test("LST-1 lists each loaded agent once by name, with versions, persona and abilities", async () => {
  // Given loaded agents, when they are listed and read, then each is there once, by name, with its versions, its persona
  // and what it can do.
  const agents = await client.listAll("/v1/agents", 3);
  const names = agents.map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)].sort());
  const { body } = await client.get("/v1/agents/versioned");
  assert.deepEqual(
    [body.object, body.version, body.versions, body.persona_id],
    ["agent", "2.0.0", ["2.0.0", "1.5.0", "1.0.0"], "persona_versioned"],
  );
  const rehearsal = agents.find(({ name }) => name === "rehearsal");
  assert.deepEqual(
    [rehearsal.skills.map(({ id }: Json) => id), rehearsal.persona_id],
    [["rehearse"], "persona_rehearsal"],
  );
  assert.match(rehearsal.description, /Plays a script/);
  assert.equal((await client.get("/v1/agents/echo")).body.persona_id, "persona_default");
  errorOf(await client.get("/v1/agents/nobody"), 404);
  const other = client.as((await client.createKey({ tenant_id: "tenant_other" })).key);
  assert.equal((await other.get("/v1/agents/rehearsal")).body.persona_id, "persona_rehearsal.tenant_other");
  errorOf(await (await client.withScopes("tasks:read")).get("/v1/agents"), 403);
});

test("LST-2 lists tasks by status, agent and time, page by page, last changed first", async () => {
  // Given tasks of several agents, when they are listed by status, agent and time, then only those are there, page by
  // page, the last changed first.
  const { id: sessionId } = await client.createSession();
  const asking = await client.rehearse(sessionId, "ask Go on?");
  const failed = await client.rehearse(sessionId, "fail");
  const rejected = await client.rehearse(sessionId, "reject no");
  const echoed = await client.submit(sessionId, "hello");
  await client.untilTask(echoed.id, ({ status }) => status === "COMPLETED");
  const listed = async (query: string, limit = 1) =>
    (await client.listAll(`/v1/tasks?session_id=${sessionId}&${query}`, limit)).map(({ id }) => id);
  assert.deepEqual(await listed("status=INPUT_REQUIRED"), [asking.id]);
  assert.deepEqual(await listed("status=FAILED"), [rejected.id, failed.id]);
  assert.deepEqual(await listed("agent=rehearsal"), [rejected.id, failed.id, asking.id]);
  assert.deepEqual(await listed(`since=${rejected.completed_at}`), [echoed.id, rejected.id]);
  assert.deepEqual(await listed("agent=rehearsal&status=COMPLETED"), []);
  assert.deepEqual(await listed("workspace_id=workspace_default&agent=echo"), [echoed.id]);
  assert.deepEqual(await listed("workspace_id=workspace_none&agent=echo"), []);
  for (const query of ["status=BUSY", "since=yesterday", "status=FAILED&cursor=x"]) {
    errorOf(await client.get(`/v1/tasks?${query}`), 400);
  }
});
