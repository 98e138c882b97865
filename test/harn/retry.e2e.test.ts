/** Retrying tasks that failed: what is kept, what is done again, and what is refused. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type AgentContext, defineAgent, defineTool } from "bridle";
import { bridle } from "../support/cli.ts";
import { Client, errorOf, isFinal, type Json, until } from "../support/client.ts";
import { createPersona } from "../support/policy.ts";
import { startServer, type TestServer } from "../support/server.ts";

/** What the world saw: a name for each call that reached it, with its key. */
const calls: { name: string; key: string }[] = [];
/** The names of calls that fail now. */
const broken = new Set<string>();

function act(name: string): (step: { idempotencyKey: string }) => string {
  return ({ idempotencyKey: key }) => {
    calls.push({ name, key });
    if (broken.has(name)) throw new Error(`${name} is down`);
    return `${name} done`;
  };
}

/** A call that reaches the world and does not come back. */
function held(name: string): (step: { idempotencyKey: string; signal: AbortSignal }) => Promise<string> {
  return async (step) => {
    act(name)(step);
    return await new Promise((_, reject) =>
      step.signal.addEventListener("abort", () => reject(new Error("aborted"))),
    );
  };
}

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  effect: "irreversible",
  run: (_, context) => act("pay")(context),
});

const look = defineTool({ name: "look", description: "Looks.", effect: "none", run: () => "seen" });

const once = { retries: 0 } as const;

async function order(ctx: AgentContext): Promise<string> {
  const [stock, price] = await Promise.all([
    ctx.step("stock", act("stock"), once),
    ctx.step("price", act("price"), once),
  ]);
  const uuid = await ctx.uuid();
  await ctx.say(`${stock}, ${price}`);
  if (ctx.text.includes("pay")) await ctx.tool(pay, {});
  if (ctx.text.includes("ask")) await ctx.ask("Sure?");
  if (ctx.text.includes("wire")) {
    await ctx.approve({ action: "wire" });
    await ctx.tool(look, {});
    await ctx.step("wire", ctx.text.includes("slowly") ? held("wire") : act("wire"), once);
  }
  if (ctx.text.includes("ship")) {
    const ship = ctx.text.includes("slowly") ? held("ship") : act("ship");
    await ctx.effect("ship", ship, { payload: { uuid } });
  }
  await ctx.step("mail", act("mail"), once);
  return `${ctx.taskId} ${uuid}`;
}

let server: TestServer;
let client: Client;
before(async () => {
  const agent = defineAgent({ name: "orders", version: "1.0.0", tools: [pay, look], run: order });
  server = await startServer({ config: { agents: [agent] } });
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

async function run(text: string, fails: string[], fields: object = {}): Promise<Json> {
  calls.length = 0;
  broken.clear();
  for (const name of fails) broken.add(name);
  const session = await client.createSession();
  const task = await client.submit(session.id, text, { persona_id: "persona_orders", ...fields });
  return await client.untilTask(task.id, ({ status }) => isFinal({ status }) || /REQUIRED$/.test(status));
}

async function retry({ id }: Json, body: object = {}): Promise<Json> {
  const answer = await client.post(`/v1/tasks/${id}/retry`, body);
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return await client.untilTask(answer.body.id, (task) => isFinal(task) || /REQUIRED$/.test(task.status));
}

const names = () => calls.map(({ name }) => name);

const messagesOf = (task: Json) => client.listAll(`/v1/sessions/${task.session_id}/messages`);

test("TRY-1, TRY-5 a retry keeps results, ids and keys up to the failed step and runs the rest", async () => {
  const failed = await run("mail", ["mail"]);
  assert.deepEqual([failed.status, failed.failure.message], ["FAILED", "mail is down"]);
  const key = calls.at(-1)?.key;
  broken.clear();
  const retried = await retry(failed);
  assert.deepEqual(names(), ["stock", "price", "mail", "mail"]);
  assert.deepEqual([retried.status, calls.at(-1)?.key], ["COMPLETED", key]);
  assert.deepEqual(retried.retry_of, { task_id: failed.id, from_step: "step:mail:1" });
  const said = (await messagesOf(retried)).filter(({ role }: Json) => role === "agent");
  assert.equal(said.length, 2, "what it said before is said once");
  assert.match(JSON.stringify(said), new RegExp(`${failed.id} [0-9a-f-]{36}`));
});

test("TRY-1, TRY-5 a retry that fails again is retried from there", async () => {
  const failed = await run("mail", ["mail"]);
  const again = await retry(failed);
  assert.deepEqual([again.status, again.failure.message], ["FAILED", "mail is down"]);
  broken.clear();
  const done = await retry(again);
  assert.deepEqual(
    [done.status, done.retry_of.task_id],
    ["COMPLETED", again.id],
    JSON.stringify(done.failure),
  );
  assert.deepEqual(names(), ["stock", "price", "mail", "mail", "mail"]);
  assert.equal(new Set(calls.slice(2).map(({ key }) => key)).size, 1);
});

test("TRY-2 from a step that is named, everything is done again; an unknown step is refused", async () => {
  const failed = await run("mail", ["mail"]);
  broken.clear();
  calls.length = 0;
  assert.equal((await retry(failed, { from_step: "step:price:1" })).status, "COMPLETED");
  assert.deepEqual(names(), ["price", "mail"]);
  const unknown = await client.post(`/v1/tasks/${failed.id}/retry`, { from_step: "step:nope:1" });
  const error = errorOf(unknown, 400);
  assert.ok(error.details.steps.includes("step:mail:1"), JSON.stringify(error));
});

test("TRY-3 a question that was open is asked again, one that was answered is not", async () => {
  const open = await run("ask", ["mail"]);
  assert.equal(open.status, "INPUT_REQUIRED");
  await client.post(`/v1/tasks/${open.id}/cancel`);
  const asked = await retry(open);
  assert.equal(asked.status, "INPUT_REQUIRED");
  await client.answer(asked.id, "yes");
  const failed = await client.untilTask(asked.id, isFinal);
  assert.equal(failed.failure.message, "mail is down");
  broken.clear();
  assert.equal((await retry(failed)).status, "COMPLETED");
  assert.deepEqual(names(), ["stock", "price", "mail", "mail"]);
});

test("TRY-3 an approval that the failed effect rested on is asked for again", async () => {
  const persona = await createPersona(client, {
    entry_workflow: "orders",
    autonomy_tier: "act_with_approval",
  });
  const waiting = await run("ship", ["ship"], { persona_id: persona.id });
  const approve = async ({ id }: Json) => {
    const [request] = await client.listAll(`/v1/tasks/${id}/permission-requests`);
    await client.post(`/v1/permission-requests/${request.id}/respond`, { approved: true });
    return await client.untilTask(id, isFinal);
  };
  const failed = await approve(waiting);
  assert.equal(failed.failure.message, "ship is down");
  broken.clear();
  const asked = await retry(failed);
  assert.equal(asked.status, "AUTH_REQUIRED");
  assert.equal((await approve(asked)).status, "COMPLETED");
  assert.deepEqual(names(), ["stock", "price", "ship", "ship", "mail"]);
});

test("TRY-3 an approval under which something had begun when the task was canceled is asked for again", async () => {
  const persona = await createPersona(client, {
    entry_workflow: "orders",
    autonomy_tier: "act_with_approval",
  });
  const approve = async ({ id }: Json) => {
    const [request] = await client.listAll(`/v1/tasks/${id}/permission-requests`);
    await client.post(`/v1/permission-requests/${request.id}/respond`, { approved: true });
  };
  const cancel = async ({ id }: Json) => {
    assert.equal((await client.post(`/v1/tasks/${id}/cancel`, {})).status, 200);
    return await client.untilTask(id, isFinal);
  };
  for (const [word, fields] of [
    ["wire", {}],
    ["ship", { persona_id: persona.id }],
  ] as const) {
    const waiting = await run(`${word} slowly`, [], fields);
    await approve(waiting);
    await until(
      async () => names(),
      (seen) => seen.includes(word),
    );
    const again = await retry(await cancel(waiting));
    assert.equal(again.status, "AUTH_REQUIRED", word);
    assert.equal(names().filter((name) => name === word).length, 1);
    await cancel(again);
  }
  // Behind a completed effect there is nothing left that it could be used for again.
  const shipped = await run("ship ask", [], { persona_id: persona.id });
  await client.answer(shipped.id, "yes");
  const asked = await client.untilTask(shipped.id, ({ status }) => status === "AUTH_REQUIRED");
  broken.add("mail");
  await approve(asked);
  assert.equal((await retry(await client.untilTask(shipped.id, isFinal))).status, "FAILED");
  assert.deepEqual(
    names().filter((name) => name === "ship" || name === "mail"),
    ["ship", "mail", "mail"],
  );
});

test("TRY-4 a call that cannot be undone is repeated only if it is named", async () => {
  const failed = await run("pay", ["pay"]);
  broken.clear();
  const refused = errorOf(await client.post(`/v1/tasks/${failed.id}/retry`, {}), 422);
  assert.match(refused.message, /would repeat tool:pay:1, which cannot be undone/);
  assert.equal((await retry(failed, { from_step: "tool:pay:1" })).status, "COMPLETED");
  const later = await run("pay", ["mail"]);
  broken.clear();
  assert.equal(
    errorOf(await client.post(`/v1/tasks/${later.id}/retry`, { from_step: "step:stock:1" }), 422).code,
    "policy_violation",
  );
  assert.equal((await retry(later)).status, "COMPLETED");
  assert.equal(names().filter((name) => name === "pay").length, 1);
});

test("TRY-6 only what failed or was canceled is retried, and once per idempotency key", async () => {
  const failed = await run("mail", ["mail"]);
  broken.clear();
  const send = () =>
    client.call(`/v1/tasks/${failed.id}/retry`, { method: "POST", headers: { "idempotency-key": "again" } });
  const [first, second] = [await send(), await send()];
  assert.equal(first.body.id, second.body.id);
  await client.untilTask(first.body.id, isFinal);
  const completed = errorOf(await client.post(`/v1/tasks/${first.body.id}/retry`, {}), 400);
  assert.equal(completed.code, "invalid_state_transition");
  const replay = await client.post(`/v1/tasks/${failed.id}/replay`, {});
  await client.untilTask(replay.body.id, isFinal);
  assert.match(
    errorOf(await client.post(`/v1/tasks/${replay.body.id}/retry`, {}), 422).message,
    /is a replay/,
  );
});

test("TRY-7 the receipt of a retry lists what it did itself, and its log replays", async () => {
  const failed = await run("ship", ["mail"]);
  broken.clear();
  const retried = await retry(failed);
  const { body: receipt } = await client.get(`/v1/receipts/${retried.receipt_id}`);
  const done = receipt.side_effects.tool_calls.map(({ call_id }: Json) => call_id);
  assert.deepEqual(done, ["step:mail:1"]);
  const replay = await client.post(`/v1/tasks/${retried.id}/replay`, {});
  const replayed = await client.untilTask(replay.body.id, isFinal);
  assert.equal(replayed.status, "COMPLETED", JSON.stringify(replayed.failure));
  calls.length = 0;
  const checked = await bridle(["check", "--agent", "orders"], { server });
  assert.doesNotMatch(checked.stdout, /diverges/);
  assert.deepEqual(calls, []);
});

test("TRY-1 bridle task retry prints the new task", async () => {
  const failed = await run("mail", ["mail"]);
  broken.clear();
  const ended = await bridle(["task", "retry", failed.id], { server });
  assert.match(ended.stderr, /It goes on from step:mail:1\./);
  const done = await client.untilTask(ended.stdout.trim(), isFinal);
  assert.equal(done.status, "COMPLETED");
});
