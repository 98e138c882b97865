/** Repeated requests, and what is left of a conversation when the engine dies in the middle of it. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Json, until } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { startProcess, type TestProcess, temporaryDirectory } from "../support/server.ts";
import { openSession } from "../support/socket.ts";
import { streamOf, take } from "../support/sse.ts";
import {
  continued,
  directivesOf,
  errorOf,
  everything,
  message,
  outcome,
  path,
  runOf,
  Shell,
  streaming,
  textsOf,
} from "./wire.ts";

const script = fileURLToPath(new URL("../support/openharness-server.ts", import.meta.url));

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: TestProcess;
let shell: Shell;

before(async () => {
  directory = await temporaryDirectory();
  await start();
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

async function start(): Promise<void> {
  server = await startProcess({ script, data: directory.path });
  shell = new Shell(server);
}

/** At once, with no chance to clean up. */
async function crash(): Promise<void> {
  await server.kill();
  await start();
}

function scripted(lines: string[], context: object = {}, more: object = {}): Json {
  return message({ user_intent: lines.join("\n"), task_hint: { sop_id: "rehearsal" }, ...context }, more);
}

/** The tasks of the conversation of a name. */
async function tasksOf(sessionId: string): Promise<Json[]> {
  return await shell.client.listAll(`/v1/tasks?session_id=${sessionId}`);
}

const sessionOf = ({ response }: Json): string => response.extensions["com.bridle"].session_id;

describe("Idempotency", () => {
  test("OPH-42 a repeated request returns the identical response and does nothing twice", async () => {
    // Given a response, when its request is sent again, then it is the same, word for word, and nothing is done twice.
    const sent = scripted(["say one", "ask Which?"], { session_id: "repeat" });
    const first = await shell.send(sent);
    assert.deepEqual(await shell.send(sent), first);
    const reordered = JSON.parse(JSON.stringify(sent));
    const { request, ...rest } = reordered;
    assert.deepEqual(await shell.send({ request, ...rest }), first);
    const reply = continued(first, {}, { user_intent: "that" });
    const second = await shell.send(reply);
    assert.deepEqual(await shell.send(reply), second);
    assert.deepEqual(await shell.send(sent), first);
    assert.equal((await tasksOf(sessionOf(first))).length, 1);
    assert.deepEqual(await shell.client.texts(sessionOf(first)), [
      "say one\nask Which?",
      "one",
      "that",
      "You said: that",
    ]);
  });

  test("OPH-42 a request repeated while it waits returns the same response to both", async () => {
    // Given a request that still waits, when it is sent again meanwhile, then both get the same response.
    const sent = scripted(["host gate.open", "return opened"], { session_id: "together" });
    const waiting = Promise.all([shell.send(sent), shell.send(sent), shell.send(sent)]);
    const [task] = await until(
      async () =>
        (await shell.client.listAll("/v1/tasks")).filter(({ waiting_for }) => waiting_for?.kind === "host"),
      (tasks) => tasks.length === 1,
    );
    await using host = await openSession(shell.client, task.session_id, { host_capabilities: ["gate.open"] });
    const { call_id } = await host.until("request");
    await host.command({ type: "host.result", call_id, output: 1 });
    const [first, ...others] = await waiting;
    assert.equal(textsOf(first).at(-1), "opened");
    for (const other of others) assert.deepEqual(other, first);
  });

  test("OPH-43 a reused request id is a conflict for the same caller only", async () => {
    // Given a request id, when another request comes under it, then it is a conflict; of another caller, it is not.
    const sent = scripted(["return mine"]);
    const first = await shell.send(sent);
    const other = { ...scripted(["return other"]), request_id: sent.request_id };
    const error = await shell.refusal(other);
    assert.deepEqual([error.code, error.retryable], ["idempotency_conflict", false]);
    const { key } = await shell.client.createKey({ actor: "another" });
    assert.deepEqual(textsOf(await shell.as(key).send(other)), ["other"]);
    assert.deepEqual(await shell.send(sent), first);
  });

  test("OPH-43 a refused request is accepted unchanged once its cause is fixed elsewhere", async () => {
    // Given a request that was refused, when what was wrong is put right elsewhere, then the same request is taken.
    const sent = message({ user_intent: "return welcome", task_hint: { sop_id: "Concierge" } });
    assert.equal((await shell.refusal(sent)).code, "unknown_sop");
    await shell.client.post("/v1/personas", {
      name: "Concierge",
      version: "1",
      entry_workflow: "rehearsal",
      description: "Came late.",
      autonomy_tier: "act_auto",
      receipt_policy: "required",
    });
    assert.deepEqual(textsOf(await shell.send(sent)), ["welcome"]);
  });

  test("OPH-42 given no request id, when the same is sent twice, then it is done twice", async () => {
    const sent = { ...scripted(["return done"]), request_id: undefined };
    assert.notEqual(runOf(await shell.send(sent)), runOf(await shell.send(sent)));
  });
});

describe("Crashes", () => {
  test("OPH-44, OPH-42, OPH-25 responses survive a crash and their tokens work exactly once", async () => {
    // Given responses from before a crash, when the engine is back, then they are the same, their tokens are good, and
    // good once.
    const sent = scripted(["say one", "ask Which?", "ask And?", "return done"], { session_id: "crash" });
    const first = await shell.send(sent);
    const other = await shell.send(scripted(["ask Used?", "ask Next?"]));
    const used = other.response.continuation;
    await shell.resume(other, {}, { user_intent: "used" });
    await crash();
    assert.deepEqual(await shell.send(sent), first);
    const stale = await shell.refusal(message({ user_intent: "again", continuation: used }));
    assert.equal(stale.code, "continuation_invalid");
    const reply = continued(first, {}, { user_intent: "that" });
    const second = await shell.send(reply);
    assert.deepEqual(textsOf(second), ["You said: that", "And?"]);
    await crash();
    assert.deepEqual(await shell.send(reply), second);
    const twice = await shell.refusal(continued(first, {}, { user_intent: "twice" }));
    assert.equal(twice.code, "continuation_invalid");
    const done = await shell.resume(second, {}, { user_intent: "this" });
    assert.deepEqual(textsOf(done), ["You said: this", "done"]);
  });

  test("OPH-44, OPH-29 an outcome reported after a crash continues the run", async () => {
    // Given a directive that a shell was told before a crash, when its outcome comes after it, then the run goes on with
    // it.
    const press = { action_type: "simulate_action", payload: { macro: "cmd+c" } };
    const told = await shell.say(
      { directives: [{ action_type: "render_ui", payload: { component: "Card" } }, press] },
      { task_hint: { sop_id: "director" } },
      { capabilities: everything },
    );
    await crash();
    const [, directive] = directivesOf(told);
    const done = await shell.resume(told, { outcomes: [outcome(directive, "completed", { result: 7 })] });
    const given = directivesOf(done).at(-1).payload.data;
    assert.deepEqual(
      given.map(({ status, result }: Json) => [status, result]),
      [
        ["shown", null],
        ["completed", 7],
      ],
    );
  });

  test("OPH-44 a request repeated after a crash returns the response of the same run", async () => {
    // Given an engine that dies while a shell waits, when the shell sends the same again, then it gets the response of
    // the same run.
    const capabilities = { ...everything, ...streaming };
    const sent = scripted(
      ["say started", "host gate.open", "return opened"],
      { session_id: "cut" },
      { capabilities },
    );
    await using stream = await streamOf(shell.client, path, {
      body: sent,
      headers: { accept: "text/event-stream" },
    });
    const [begun] = await take(stream.frames, ({ event }) => event === "directive");
    await crash();
    const [taskId = ""] = begun?.data.stream_id.split(":") ?? [];
    const again = shell.send(sent);
    const { session_id } = (await shell.client.get(`/v1/tasks/${taskId}`)).body;
    await using host = await openSession(shell.client, session_id, { host_capabilities: ["gate.open"] });
    const { call_id } = await host.until("request");
    await host.command({ type: "host.result", call_id, output: 1 });
    const answered = await again;
    assert.equal(runOf(answered), taskId);
    assert.deepEqual(textsOf(answered), ["started", "Host gate.open gave 1", "opened"]);
    assert.deepEqual(directivesOf(answered)[0], begun?.data.action_directive);
    assert.equal((await tasksOf(session_id)).length, 1);
  });

  test("OPH-44, OPH-6 a stopping engine tells a waiting shell to send its request again", async () => {
    // Given an engine that stops while a shell waits, when it says so, then the request can be sent again.
    const sent = scripted(["host gate.open", "return opened"], { session_id: "stopped" });
    const waiting = shell.post(sent);
    await until(
      async () =>
        (await shell.client.listAll("/v1/tasks")).filter(({ waiting_for }) => waiting_for?.kind === "host"),
      (tasks) => tasks.length === 1,
    );
    await server.stop();
    const { status, message: answered } = await waiting;
    assert.equal(status, 503);
    const error = errorOf(answered);
    assert.deepEqual([error.code, error.retryable], ["engine_unavailable", true]);
    await start();
    const again = shell.send(sent);
    const [task] = await until(
      async () =>
        (await shell.client.listAll("/v1/tasks")).filter(({ waiting_for }) => waiting_for?.kind === "host"),
      (tasks) => tasks.length === 1,
    );
    await using host = await openSession(shell.client, task.session_id, { host_capabilities: ["gate.open"] });
    const { call_id } = await host.until("request");
    await host.command({ type: "host.result", call_id, output: 1 });
    assert.equal(textsOf(await again).at(-1), "opened");
  });

  test("OPH-44 given everything that happened here, when the log is refolded, then it is sound", async () => {
    await server.stop();
    const events = await assertRebuildable(directory.path);
    const answered = events.filter(({ event }) => event === "vendor.bridle.shell_link.turn_answered");
    const turns = new Set(
      answered.map(({ resource, payload }) => JSON.stringify([resource.id, (payload as Json).told.turn])),
    );
    assert.equal(turns.size, answered.length, "each turn was answered once");
  });
});
