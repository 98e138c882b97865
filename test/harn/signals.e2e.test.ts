/** Signals to running tasks, and branches of agent code side by side. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type AgentContext, defineAgent, type StandardSchema, Type, WaitExpired } from "bridle";
import { bridle } from "../support/cli.ts";
import { Client, errorOf, isFinal, type Json, until } from "../support/client.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

/** As zod and others make it. */
const amount: StandardSchema<number> = {
  "~standard": {
    version: 1,
    vendor: "own",
    validate: (value) =>
      typeof value === "string" ? { value: Number(value) } : { issues: [{ message: "expected a text" }] },
  },
};

const plays: Record<string, (ctx: AgentContext) => Promise<unknown>> = {
  async two(ctx) {
    const first = await ctx.waitFor("paid", { schema: Type.Object({ by: Type.String() }) });
    const second = await ctx.waitFor("paid");
    return [first.by, second];
  },
  async early(ctx) {
    await ctx.ask("Go on?");
    const before = await ctx.step("before", () => 1);
    return [before, await ctx.waitFor("paid"), await ctx.step("behind", () => 2)];
  },
  late: (ctx) =>
    ctx.waitFor("paid", { timeoutMs: 1 }).catch((error) => {
      return error instanceof WaitExpired ? "expired" : String(error);
    }),
  standard: async (ctx) => (await ctx.waitFor("amount", { schema: amount })) + 1,
  race: (ctx) => ctx.parallel([() => ctx.waitFor("a"), () => ctx.waitFor("b")]),
  async batch(ctx) {
    const requests = ["a", "fail", "c", "d"].map((input) => ({ personaId: "persona_child", input }));
    const results = await ctx.spawnAll(requests, { concurrency: 2 });
    return results.map(({ status, summary }) => [status, summary]);
  },
  async many(ctx) {
    let running = 0;
    let most = 0;
    const out = await ctx.map(
      [5, 4, 3, 2, 1],
      async (item) => {
        running += 1;
        most = Math.max(most, running);
        const doubled = await ctx.step(`item ${item}`, () => item * 2);
        running -= 1;
        return doubled;
      },
      { concurrency: 2 },
    );
    return [out, most];
  },
};

const waiter = defineAgent({
  name: "waiter",
  version: "1.0.0",
  run: async (ctx) => JSON.stringify(await plays[ctx.text]?.(ctx)),
});

/** Says how many of it run at the moment; fails for the text `fail`. */
const running = { now: 0, most: 0 };
const child = defineAgent({
  name: "child",
  version: "1.0.0",
  async run(ctx) {
    running.most = Math.max(running.most, ++running.now);
    const again = await ctx.step("count", () => ctx.text.repeat(2));
    running.now -= 1;
    if (ctx.text === "fail") throw new Error("no");
    return again;
  },
});

let place: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: TestServer;
let client: Client;
const start = async () => {
  server = await startServer({ data: place.path, config: { agents: [waiter, child] } });
  client = new Client(server);
};
before(async () => {
  place = await temporaryDirectory();
  await start();
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

async function begin(play: string): Promise<Json> {
  const session = await client.createSession();
  return await client.submit(session.id, play, { persona_id: "persona_waiter" });
}

const signal = ({ id }: Json, name: string, payload: unknown = null) =>
  client.post(`/v1/tasks/${id}/signals`, { name, payload });

const waiting = ({ id }: Json) => client.untilTask(id, ({ waiting_for }) => waiting_for !== null);

async function outcome({ id }: Json): Promise<unknown> {
  const { status, failure, outcome_id } = await client.untilTask(id, isFinal);
  assert.equal(status, "COMPLETED", JSON.stringify(failure));
  const { body } = await client.get(`/v1/outcomes/${outcome_id}`);
  return JSON.parse(body.summary);
}

test("SIG-1 a task that waits out of memory goes on with the signal, also after a restart", async () => {
  const task = await begin("two");
  assert.match((await waiting(task)).waiting_for.description, /waits for the signal paid/);
  await server.stop();
  await start();
  assert.equal((await signal(task, "paid", { by: "ann" })).status, 202);
  await until(
    () => client.listAll(`/v1/tasks/${task.id}/events`),
    (events) =>
      events.some(({ event, payload }) => event === "span.completed" && payload.step === "signal:paid:1"),
  );
  await signal(task, "paid", 2);
  assert.deepEqual(await outcome(task), ["ann", 2]);
});

test("SIG-2 signals that come early are given in their order, each once per idempotency key", async () => {
  const task = await begin("early");
  await client.untilTask(task.id, ({ status }) => status === "INPUT_REQUIRED");
  const headers = { "idempotency-key": "signal-once" };
  for (const _ of [1, 2]) {
    const body = { name: "paid", payload: "first" };
    await client.call(`/v1/tasks/${task.id}/signals`, { method: "POST", body, headers });
  }
  await signal(task, "paid", "second");
  const received = (await client.listAll(`/v1/tasks/${task.id}/events`)).filter(
    ({ event }: Json) => event === "vendor.bridle.signal.received",
  );
  assert.deepEqual(
    received.map(({ payload }: Json) => payload.payload),
    ["first", "second"],
  );
  await client.answer(task.id, "yes");
  assert.deepEqual(await outcome(task), [1, "first", 2]);
});

test("SIG-3 a wait that nobody signals in time throws WaitExpired", async () => {
  assert.equal(await outcome(await begin("late")), "expired");
});

test("SIG-4 a signal is checked by TypeBox or any Standard Schema; one that does not fit fails the wait", async () => {
  const good = await begin("standard");
  await signal(good, "amount", "41");
  assert.equal(await outcome(good), 42);
  const bad = await begin("standard");
  await signal(bad, "amount", 41);
  const { failure } = await client.untilTask(bad.id, isFinal);
  assert.deepEqual([failure.code, /expected a text/.test(failure.message)], ["invalid_signal", true]);
  const wrong = await begin("two");
  await signal(wrong, "paid", { by: 1 });
  assert.equal((await client.untilTask(wrong.id, isFinal)).failure.code, "invalid_signal");
});

test("SIG-5 a signal to a task that has ended, or with a wrong name, is refused", async () => {
  const task = await begin("late");
  await outcome(task);
  assert.equal(errorOf(await signal(task, "paid"), 400).code, "invalid_state_transition");
  const open = await begin("two");
  assert.equal(errorOf(await signal(open, "not a name"), 400).param, "name");
  // What nobody has waited for yet is kept, within bounds.
  for (let n = 0; n < 100; n++) assert.equal((await signal(open, "other", n)).status, 202);
  assert.match(errorOf(await signal(open, "other"), 409).message, /takes no more/);
  await client.post(`/v1/tasks/${open.id}/cancel`);
});

test("SIG-6 a task with signals replays as it was, in whatever order they came", async () => {
  const task = await begin("race");
  await signal(task, "b", 2);
  await signal(task, "a", 1);
  assert.deepEqual(await outcome(task), [1, 2]);
  const { body } = await client.post(`/v1/tasks/${task.id}/replay`, {});
  assert.deepEqual(await outcome(body), [1, 2]);
});

test("SIG-7 ctx.map gives results in the order of the items, so many at a time", async () => {
  assert.deepEqual(await outcome(await begin("many")), [[10, 8, 6, 4, 2], 2]);
});

test("SIG-1 bridle task signal sends a signal", async () => {
  const task = await begin("two");
  const send = (...args: string[]) => bridle(["task", "signal", task.id, "paid", ...args], { server });
  assert.match((await send("--payload", '{"by":"bob"}')).stdout, /has the signal paid\.\n$/);
  await send();
  assert.deepEqual(await outcome(task), ["bob", null]);
});

test("SIG-8 ctx.spawnAll runs child tasks side by side, in order, also those that fail", async () => {
  const task = await begin("batch");
  const [first, second, ...rest] = (await outcome(task)) as [string, string][];
  assert.deepEqual(
    [first, ...rest],
    [
      ["SUCCEEDED", "aa"],
      ["SUCCEEDED", "cc"],
      ["SUCCEEDED", "dd"],
    ],
  );
  assert.equal(second?.[0], "FAILED");
  assert.ok(running.most <= 2, `${running.most} at once`);
  const children = (await client.listAll("/v1/tasks")).filter(
    ({ parent_task_id }: Json) => parent_task_id === task.id,
  );
  assert.equal(children.length, 4);
});
