/** The taxonomy of the protocol, whole: every name of an event and of an error, and what the log says of tools, traces and kinds. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { defineAgent, defineTool, Type } from "bridle";
import { errorTypes } from "../../src/kernel/core/errors.ts";
import { eventKinds } from "../../src/kernel/sessions/transfer/payloads.ts";
import { mcpOf } from "../../src/testing/stand-ins.ts";
import {
  conformanceNotes,
  errorCodesNotProduced,
  errorCodesProduced,
  eventKindsNotProduced,
  eventKindsProduced,
} from "../protocol-inventory.ts";
import { requirements } from "../requirements.ts";
import { taxonomyRequirements } from "../requirements-taxonomy.ts";
import { Client, isFinal, type Json, until } from "../support/client.ts";
import { createPersona } from "../support/policy.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { openStream } from "../support/sse.ts";

const add = defineTool({
  name: "numbers.add",
  description: "Adds two numbers.",
  input: Type.Object({ a: Type.Number(), b: Type.Number() }),
  effect: "none",
  run: ({ a, b }) => {
    if (a < 0) throw new Error("a is negative");
    return { sum: a + b };
  },
});
const pay = defineTool({
  name: "money.pay",
  description: "Pays an amount.",
  input: Type.Object({ cents: Type.Integer() }),
  effect: "irreversible",
  run: ({ cents }) => ({ paid: cents }),
});

/** Calls the tool that its input names. */
const caller = defineAgent({
  name: "caller",
  version: "1.0.0",
  async run(ctx) {
    const { tool, input } = ctx.input as { tool: string; input: object };
    return JSON.stringify(await ctx.tool(tool, input as never).catch(({ message }) => ({ message })));
  },
});

let server: TestServer;
let client: Client;
before(async () => {
  const mcp = mcpOf({ "notes.count": () => 3 });
  server = await startServer({ config: { agents: [caller], tools: [add, pay], mcp } });
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

async function call(tool: string, input: object, { tier = "act_auto", headers = {} } = {}): Promise<Json> {
  const persona = await createPersona(client, {
    entry_workflow: "caller",
    autonomy_tier: tier,
    tools: ["*"],
  });
  const { id } = await client.createSession();
  const body = { session_id: id, persona_id: persona.id, input: { tool, input } };
  const { body: task } = await client.post("/v1/tasks", body, headers);
  return task;
}

const isAbout = ({ event }: Json) => /^(tool|span|agent\.(mcp_)?tool)/.test(event);

async function toolEvents({ id }: Json, reader = client): Promise<Json[]> {
  await client.untilTask(id, isFinal);
  return (await reader.listAll(`/v1/tasks/${id}/events`)).filter(isAbout);
}

const names = (events: Json[]) => events.map(({ event }) => event);

describe("names of the protocol", () => {
  const ids = new Set([...requirements, ...taxonomyRequirements].map(({ id }) => id));
  const isOwn = (kind: string) => kind.startsWith("vendor.bridle.");

  test("TAX-1 every kind of event is produced, or has a note that says why not", () => {
    const kinds = eventKinds.filter((kind) => !isOwn(kind)).sort();
    assert.deepEqual(kinds, Object.keys(eventKindsProduced).sort());
    for (const kind of eventKindsNotProduced) assert.equal(hasNote(kind), true, kind);
    assert.equal(kinds.length + eventKindsNotProduced.length, 58);
    for (const each of Object.values(eventKindsProduced).flatMap((kind) => kind.ids))
      assert.ok(ids.has(each), each);
  });

  test("TAX-8 every error code is produced, or has a note that says why not", () => {
    const own = ["write_outcome_unknown"];
    const codes = [...Object.keys(errorCodesProduced), ...errorCodesNotProduced, ...own].sort();
    assert.deepEqual(codes, Object.keys(errorTypes).sort());
    for (const code of errorCodesNotProduced) assert.equal(hasNote(code), true, code);
    for (const each of Object.values(errorCodesProduced).flatMap((code) => code.ids))
      assert.ok(ids.has(each), each);
  });

  function hasNote(name: string): boolean {
    return conformanceNotes.some(
      ({ protocol, statement }) => protocol === "harn" && statement.includes(name),
    );
  }
});

describe("approval with another input", () => {
  /** A task whose payment waits for approval, and its permission request. */
  async function waiting(cents: number): Promise<{ task: Json; id: string }> {
    const task = await call("money.pay", { cents }, { tier: "act_with_approval" });
    await client.untilTask(task.id, ({ status }: Json) => status === "AUTH_REQUIRED");
    const { body } = await client.get(`/v1/tasks/${task.id}/permission-requests`);
    return { task, id: body.data[0].id };
  }

  const respond = (id: string, body: object) => client.post(`/v1/permission-requests/${id}/respond`, body);

  test("TAX-17 the tool gets the input that was approved; both are in the log, and a replay is the same", async () => {
    const { task, id } = await waiting(500);
    const answer = { decision: "modified", input: { cents: 5 } };
    const { body: answered } = await respond(id, answer);
    assert.deepEqual([answered.status, answered.response.modified_input], ["approved", { cents: 5 }]);
    assert.equal((await respond(id, answer)).status, 200);
    assert.equal((await respond(id, { ...answer, input: { cents: 6 } })).status, 409);
    const events = await toolEvents(task);
    const use = events.find(({ event }) => event === "agent.tool_use");
    const done = events.find(({ event, payload }) => event === "span.completed" && payload.kind === "tool");
    assert.deepEqual([use.payload.input, done.payload.tool_call.input], [{ cents: 500 }, { cents: 5 }]);
    assert.deepEqual(done.payload.result.output, { paid: 5 });
    const { body: replay } = await client.post(`/v1/tasks/${task.id}/replay`, { mode: "exact" });
    assert.equal((await client.untilTask(replay.id, isFinal)).status, "COMPLETED");
  });

  test("TAX-17 an input that the tool does not take fails its call; what is no tool call is not modified", async () => {
    const { task, id } = await waiting(500);
    assert.equal((await respond(id, { decision: "modified" })).status, 400);
    assert.equal((await respond(id, { approved: true, input: { cents: 1 } })).status, 400);
    await respond(id, { decision: "modified", input: { cents: "many" } });
    const events = await toolEvents(task);
    assert.ok(
      events.some(({ event, payload }) => event === "tool.failed" && /cents/.test(payload.error.message)),
    );
    const { id: session_id } = await client.createSession();
    const input = { role: "user", parts: [{ type: "text", text: "approve deploy", visibility: "public" }] };
    const { body: other } = await client.post("/v1/tasks", {
      session_id,
      persona_id: "persona_rehearsal",
      input,
    });
    await client.untilTask(other.id, ({ status }: Json) => status === "AUTH_REQUIRED");
    const { body } = await client.get(`/v1/tasks/${other.id}/permission-requests`);
    const refused = await respond(body.data[0].id, { decision: "modified", input: {} });
    assert.deepEqual([refused.status, refused.body.error.param], [422, "input"]);
  });
});

describe("tool calls in the log", () => {
  test("TAX-2, TAX-3 a call, its result and its span have one tool_call_id and one span", async () => {
    const events = await toolEvents(await call("numbers.add", { a: 1, b: 2 }));
    assert.deepEqual(names(events), [
      "agent.tool_use",
      "tool.requested",
      "tool.completed",
      "agent.tool_result",
      "span.completed",
    ]);
    const [use, requested, completed, result] = events.map(({ payload }) => payload);
    assert.deepEqual(use, {
      step: "tool:numbers.add:1",
      kind: "tool",
      name: "numbers.add",
      tool_call_id: "tool:numbers.add:1",
      input: { a: 1, b: 2 },
    });
    assert.equal(requested.effect, "none");
    assert.equal(completed.tool_call_id, use.tool_call_id);
    assert.deepEqual([result.status, result.output], ["ok", { sum: 3 }]);
    assert.equal(new Set(events.map(({ span_id }) => span_id)).size, 1);

    const reader = await client.createKey({
      name: "reader",
      actor: "reader",
      scopes: ["events:read", "tasks:read"],
    });
    const [hidden, , , hiddenResult] = await toolEvents(events[0].resource, client.as(reader.key));
    assert.equal(hidden.payload.input.redacted, true);
    assert.equal(hiddenResult.payload.output.redacted, true);
  });

  test("TAX-2 a failing call is tool.failed, with the error in the result", async () => {
    const events = await toolEvents(await call("numbers.add", { a: -1, b: 2 }));
    assert.deepEqual(names(events).slice(2), ["tool.failed", "agent.tool_result", "span.failed"]);
    assert.match(events[2]?.payload.error.message, /a is negative/);
    assert.deepEqual([events[3]?.payload.status, events[3]?.payload.output], ["error", null]);
  });

  test("TAX-2 a refused input is a call that failed", async () => {
    const events = await toolEvents(await call("numbers.add", { a: "one", b: 2 }));
    assert.deepEqual(names(events).slice(0, 3), ["agent.tool_use", "tool.requested", "tool.failed"]);
    assert.deepEqual(events[0]?.payload.input, { a: "one", b: 2 });
  });

  test("TAX-2 an approval stands between the request and the result", async () => {
    const task = await call("money.pay", { cents: 5 }, { tier: "act_with_approval" });
    const waiting = await client.untilTask(task.id, ({ status }) => status === "AUTH_REQUIRED");
    const { permission_request_id: id } = waiting.waiting_for;
    await client.post(`/v1/permission-requests/${id}/respond`, { approved: true });
    assert.deepEqual(names(await toolEvents(task)), [
      "agent.tool_use",
      "tool.requested",
      "tool.approval_required",
      "tool.approved",
      "span.updated",
      "span.started",
      "tool.completed",
      "agent.tool_result",
      "span.completed",
    ]);
  });

  test("TAX-2 a tool of an MCP server is agent.mcp_tool_use", async () => {
    const events = await toolEvents(await call("notes.count", {}));
    const use = events.find(({ event }) => event === "agent.mcp_tool_use");
    assert.equal(use?.payload.name, "notes.count");
    assert.equal(events.filter(({ event }) => event === "agent.tool_result").length, 1);
  });

  test("TAX-4 a simulated call has a result and no completion", async () => {
    const events = await toolEvents(await call("money.pay", { cents: 5 }, { tier: "shadow" }));
    assert.deepEqual(names(events), [
      "agent.tool_use",
      "tool.requested",
      "agent.tool_result",
      "span.completed",
    ]);
    assert.equal(events[2]?.payload.simulated, true);
  });

  test("TAX-5 events are in the caller's trace, and steps under their task", async () => {
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01` };
    const task = await call("numbers.add", { a: 1, b: 2 }, { headers });
    await client.untilTask(task.id, isFinal);
    const events = await client.listAll(`/v1/tasks/${task.id}/events`);
    assert.deepEqual([...new Set(events.map(({ trace_id }) => trace_id))], [trace]);
    const ofTask = events.find(({ event }) => event === "task.started");
    const ofStep = events.find(({ event }) => event === "span.completed");
    assert.equal(ofTask.parent_span_id, null);
    assert.equal(ofStep.parent_span_id, ofTask.span_id);
    assert.match(ofStep.span_id, /^[0-9a-f]{16}$/);
  });
});

test("TAX-15 an artifact is linked by messages that name it, and redacted with its session", async () => {
  const session = await client.createSession();
  const described = { kind: "dataset", mime_type: "text/csv", visibility: "public", session_id: session.id };
  const { body: artifact } = await client.post("/v1/artifacts", {
    ...described,
    uri: "https://a.example.com/a",
  });
  const parts = [{ type: "artifact_ref", artifact_id: artifact.id, visibility: "public" }];
  const { body: message } = await client.post(`/v1/sessions/${session.id}/messages`, {
    message: { role: "user", parts },
  });
  const told = async (kind: string) =>
    (await client.listAll(`/v1/events?event=${kind}`)).filter(({ resource }) => resource.id === artifact.id);
  const [linked] = await told("artifact.linked");
  assert.deepEqual([linked?.payload.message_id, linked?.payload.session_id], [message.id, session.id]);
  const { status } = await client.call(`/v1/sessions/${session.id}/erase`, { method: "POST", body: {} });
  assert.ok(status < 300, String(status));
  await until(
    () => told("artifact.redacted"),
    (events) => events.length === 1,
  );
});

describe("reading by kind", () => {
  test("TAX-6 lists and streams have the kinds that were asked for, and only known ones", async () => {
    const task = await call("numbers.add", { a: 1, b: 2 });
    await client.untilTask(task.id, isFinal);
    const kinds = "task.completed,agent.tool_use";
    const listed = await client.listAll(`/v1/events?task_id=${task.id}&event=${kinds}`, 1);
    assert.deepEqual(names(listed), ["agent.tool_use", "task.completed"]);
    await using stream = await openStream(client, `/v1/tasks/${task.id}/stream?event=${kinds}`);
    const told: Json[] = [];
    for await (const frame of stream.frames) told.push(frame);
    assert.deepEqual(names(told), ["agent.tool_use", "task.completed"]);

    const { status, body } = await client.get("/v1/events?event=task.exploded");
    assert.deepEqual([status, body.error.code, body.error.param], [400, "invalid_request", "event"]);
  });

  test("TAX-7 every block of a stream has id, event and data", async () => {
    const task = await call("numbers.add", { a: 1, b: 2 });
    await client.untilTask(task.id, isFinal);
    const { body } = await client.get(`/v1/tasks/${task.id}/stream`);
    const blocks = String(body).trim().split("\n\n");
    assert.ok(blocks.length > 5);
    assert.match(blocks[0] ?? "", /^retry: \d+\nid: /);
    for (const block of blocks)
      assert.match(block, /^(retry: \d+\n)?id: evt_\d+\nevent: [\w.]+\ndata: \{.*\}$/);

    const lost = await client.get("/v1/events/stream?after_event_id=evt_0000000999999999");
    assert.match(String(lost.body), /^id: evt_0000000999999999\nevent: error\ndata: \{.*cursor_expired/);
  });
});
