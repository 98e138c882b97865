/** What went wrong once, each by what a user would have seen. In one process, so that moments can be chosen. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Agent, defineAgent, type Server, startServer, Type } from "../src/index.ts";
import { Client, isFinal, type Json, until, userMessage } from "./support/client.ts";
import { adminKey, temporaryDirectory } from "./support/server.ts";

let release = () => {};
const gate = new Promise<void>((resolve) => {
  release = resolve;
});

/** How often the agent `pensive` has begun; the second time it waits before its first question. */
let pensiveRuns = 0;
const answered = Promise.withResolvers<void>();

function agent(name: string, run: Agent["run"]): Agent {
  return defineAgent({ name, version: "1.0.0", run });
}

const agents: Agent[] = [
  agent("careless", async (ctx) => {
    const slow = ctx.step("slow", () => new Promise<void>((resolve) => setTimeout(resolve, 30)));
    const failing = ctx.step("failing", () => Promise.reject(new Error("boom")));
    await slow;
    await failing;
  }),
  agent("mutating", async (ctx) => {
    ctx.input.n = Number(ctx.input.n) + 1;
    const parts = [{ type: "text" as const, text: "one", visibility: "public" as const }];
    await ctx.say(parts);
    const [part] = parts;
    if (part !== undefined) part.text = "two";
    await ctx.ask("go on?");
    return ctx.input.n ?? null;
  }),
  agent("unspeakable", async (ctx) => {
    const payload: Json = { amount: 10n };
    await ctx.approve({ action: "pay", payload });
  }),
  agent("impatient", async (ctx) => {
    return await ctx.ask("quick?", Type.String(), { expiresInMs: 500 });
  }),
  agent("curious", async (ctx) => {
    const child = await ctx.spawn({ personaId: "persona_default", input: "hello" });
    const [a, b] = await Promise.all([child.result(), child.result()]);
    return [a.output, b.output];
  }),
  agent("prolific", async (ctx) => {
    for (let n = 0; n < 520; n++) await ctx.spawn({ personaId: "persona_asking", input: "x" });
    await ctx.step("wait", () => gate);
  }),
  agent("pensive", async (ctx) => {
    pensiveRuns += 1;
    if (pensiveRuns === 2) await answered.promise;
    const first = ctx.ask("first?");
    // Too long to be spent in memory.
    await ctx.sleep(3000);
    return [await first, await ctx.ask("second?")];
  }),
  agent("asking", async (ctx) => await ctx.ask("still there?")),
];

describe("regressions", () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: Server;
  let client: Client;
  let sessionId: string;
  const rejections: unknown[] = [];
  const onRejection = (error: unknown) => rejections.push(error);

  before(async () => {
    process.on("unhandledRejection", onRejection);
    directory = await temporaryDirectory();
    server = await startServer({ agents, port: 0, dataDirectory: directory.path, apiKey: adminKey });
    client = new Client(server);
    sessionId = (await client.createSession()).id;
  });
  after(async () => {
    release();
    await server.stop(1000);
    await directory[Symbol.asyncDispose]();
    process.off("unhandledRejection", onRejection);
  });

  function submit(name: string, input: Json = { text: "go" }): Promise<Json> {
    return client.submit(sessionId, "", { persona_id: `persona_${name}`, input });
  }

  test("an answer during a run's replay still lets the agent ask its next question", async () => {
    // Given a question that is answered while its run is being repeated, when the agent asks the next one, then it is
    // asked.
    const { id } = await submit("pensive");
    await until(
      async () => pensiveRuns,
      (runs) => runs === 2,
    );
    await client.answer(id, "one");
    answered.resolve();
    await client.untilTask(id, ({ waiting_for }) => waiting_for?.description === "second?");
    await client.answer(id, "two");
    const task = await client.untilTask(id, isFinal);
    assert.equal(task.status, "COMPLETED");
  });

  test("a second step that fails first fails the task and does not crash the process", async () => {
    // Given two steps of which the second fails first, when the agent awaits them in order, then its task fails and the
    // process lives.
    const { id } = await submit("careless");
    const task = await client.untilTask(id, isFinal);
    assert.deepEqual([task.status, task.failure.message], ["FAILED", "boom"]);
    assert.deepEqual(rejections, []);
  });

  test("an agent that mutates its input and messages agrees with log and document on rerun", async () => {
    // Given an agent that changes its input and what it said, when it runs again after a wait, then log, document and
    // agent agree.
    const { id } = await submit("mutating", { n: 0 });
    await client.untilTask(id, (task) => task.status === "INPUT_REQUIRED");
    assert.deepEqual((await client.get(`/v1/tasks/${id}`)).body.input, { n: 0 });
    await client.answer(id, "yes");
    const task = await client.untilTask(id, isFinal);
    assert.equal(task.status, "COMPLETED", JSON.stringify(task.failure));
    const { body: outcome } = await client.get(`/v1/outcomes/${task.outcome_id}`);
    assert.equal(outcome.messages[0].parts[0].value, 1);
    const events = await client.listAll(`/v1/tasks/${id}/events`);
    const said = events.find(({ event }) => event === "agent.message");
    assert.equal(said.payload.message.parts[0].text, "one");
  });

  test("asking approval with a value that JSON cannot express fails the task at once", async () => {
    // Given a value that JSON cannot say, when an agent asks for approval with it, then the task fails at once.
    const { id } = await submit("unspeakable");
    const task = await client.untilTask(id, isFinal);
    assert.match(task.failure.message, /BigInt/);
  });

  test("an answer accepted just before the deadline completes the task after it passes", async () => {
    // Given an answer that is accepted just before the deadline, when the deadline passes, then the task completes with
    // it.
    const answered = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const { id } = await submit("impatient");
        const { waiting_for } = await client.untilTask(
          id,
          (task) => task.waiting_for !== null || isFinal(task),
        );
        // On a busy machine its time may be over before it is looked at.
        const ms = waiting_for === null ? 0 : Date.parse(waiting_for.until) - Date.now() - 4 + (n % 8);
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
        const { status } = await client.answer(id, "here");
        const task = await client.untilTask(id, isFinal);
        return { accepted: status === 201, status: task.status };
      }),
    );
    for (const { accepted, status } of answered) assert.equal(status, accepted ? "COMPLETED" : "FAILED");
  });

  test("given a child's result, when it is asked for twice at once, then both get it", async () => {
    const { id } = await submit("curious");
    const task = await client.untilTask(id, isFinal);
    const { body: outcome } = await client.get(`/v1/outcomes/${task.outcome_id}`);
    assert.deepEqual(outcome.messages[0].parts[0].value, ["hello", "hello"]);
  });

  test("given a task with 520 waiting children, when it is canceled, then none of them is left", async () => {
    const { id } = await submit("prolific");
    const children = () =>
      server.kernel.store
        .of("tenant_default")
        .list({ kind: "task", by: { taskId: id }, order: "oldest_first", limit: 1000 });
    await until(children, (found) => found.filter(isWaiting).length === 520);
    assert.equal((await client.post(`/v1/tasks/${id}/cancel`)).status, 200);
    assert.deepEqual((await children()).filter(isWaiting), []);
  });

  test("closing a session while tasks are submitted leaves nothing running in it", async () => {
    // Given a session that is closed while tasks are submitted, when both are done, then nothing runs in it.
    for (let n = 0; n < 20; n++) {
      const { id } = await client.createSession();
      const [submitted] = await Promise.all([
        client.post("/v1/tasks", { session_id: id, persona_id: "persona_asking", input: userMessage("x") }),
        client.post(`/v1/sessions/${id}/close`),
      ]);
      assert.ok(submitted.status === 202 || submitted.status === 409, JSON.stringify(submitted.body));
      const tasks = await client.listAll(`/v1/sessions/${id}/tasks`);
      assert.deepEqual(
        tasks.filter((task) => !isFinal(task)),
        [],
      );
    }
  });

  test("an id of another kind as branch or parent of a task is not found", async () => {
    // Given an id of another kind, when a task names it as branch or parent, then it is not found.
    for (const field of ["branch_id", "parent_task_id"]) {
      const { status } = await client.post("/v1/tasks", {
        session_id: sessionId,
        input: {},
        [field]: sessionId,
      });
      assert.equal(status, 404, field);
    }
  });

  test("a key bound to a workspace does not find a tenant-wide event by id", async () => {
    // Given a key bound to a workspace, when it asks for an event of the whole tenant by id, then it is not found.
    const { body: key } = await client.post("/v1/api-keys", {
      name: "bound",
      actor: "someone",
      scopes: ["events:read"],
      workspace_ids: ["workspace_default"],
    });
    const events = await client.listAll("/v1/events");
    const tenantWide = events.find(({ event }) => event === "vendor.bridle.api_key.created");
    assert.equal((await client.as(key.key).get(`/v1/events/${tenantWide.id}`)).status, 404);
  });
});

function isWaiting(document: { body: unknown }): boolean {
  return (document.body as Json).status === "INPUT_REQUIRED";
}
