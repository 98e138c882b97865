/** Budgets of tokens and of money: what a model is asked for, where it is stopped, and what becomes of the task then. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Json, until } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { ModelWorld } from "../support/model-runs.ts";
import type { Reply } from "../support/model-server.ts";
import { usageOf } from "../support/policy.ts";

let world: ModelWorld;
before(async () => {
  world = await ModelWorld.start();
});
after(() => world[Symbol.asyncDispose]());

/** Says much more than it is asked for, and would never stop. */
const endless: Reply = { chunks: Array(100).fill("on and on and on it goes, "), holdAfterChunks: 90 };
const cutByProvider: Reply = { text: "Only the begin", finish: "length", usage: { input: 9, output: 50 } };

async function untilAsked({ id }: Json): Promise<Json> {
  return await world.client.untilTask(id, ({ waiting_for }) => waiting_for?.kind === "approval");
}

async function respond(task: Json, approved: boolean): Promise<void> {
  const path = `/v1/permission-requests/${task.waiting_for.permission_request_id}/respond`;
  const { status, body } = await world.client.post(path, { approved });
  assert.ok(status < 300, JSON.stringify(body));
}

describe("budgets", () => {
  test("MTE-11 each request carries the tokens left in the budget; none is made at zero", async () => {
    // Given a budget in tokens, when the model is asked again and again, then each request carries what is left, and
    // none is made when nothing is.
    const { persona, quota } = await world.within({ output_tokens: 100 });
    world.script("in turn", { text: "One.", usage: { input: 9, output: 40 } });
    const op = { do: "generate", prompt: "in turn" };
    const task = await world.play([op, op, { ...op, maxTokens: 7 }, op], { persona });
    assert.equal(task.failure?.code, "policy_violation");
    assert.deepEqual(
      world.requests("in turn").map(({ body }) => body.max_tokens),
      [100, 60, 7],
    );
    assert.equal((await usageOf(world.client, quota.id)).output_tokens, 120);
  });

  test("MTE-11 a dollar budget limits the request to the tokens its price allows", async () => {
    // Given a budget in dollars and a price, when the model is asked, then the request carries the tokens that it is
    // good for.
    const { persona, quota } = await world.within({ usd: 0.1 });
    world.script("for money", { text: "Cheap.", usage: { input: 10, output: 20 } });
    const task = await world.play([{ do: "generate", prompt: "for money", model: "local/priced" }], {
      persona,
    });
    assert.equal(await world.output(task), "Cheap.");
    const most = Number(world.requests("for money")[0]?.body.max_tokens);
    assert.ok(most < 100 && most >= 98, `${most} tokens`);
    assert.equal((await usageOf(world.client, quota.id)).usd, 0.0201);
  });

  test("MTE-26 a roomy budget allows concurrent calls with limits that providers accept", async () => {
    // Given a budget with room for many answers, when one model call is under way, then others are made beside it, and
    // no provider is given a limit that it would refuse.
    const { persona, quota } = await world.within({ output_tokens: 1_000_000 });
    world.script("at length", { ...endless, usage: { input: 9, output: 900 } });
    world.script("in between", { text: "Meanwhile.", usage: { input: 9, output: 2 } });
    const long = await world.begin([{ do: "stream", prompt: "at length" }], { persona });
    await world.heardSome(long);
    const short = await world.play([{ do: "generate", prompt: "in between" }], { persona });
    assert.equal(await world.output(short), "Meanwhile.");
    world.models.release();
    assert.equal((await world.ended(long)).status, "COMPLETED");
    const [one, other] = [world.requests("at length")[0], world.requests("in between")[0]];
    assert.deepEqual([one?.body.max_tokens, other?.body.max_tokens], [undefined, undefined]);
    assert.equal((await usageOf(world.client, quota.id)).output_tokens, 902);
  });

  test("MTE-28 calls wait or retry, not fail, while a small budget is reserved by another", async () => {
    // Given a small budget that is reserved for an answer under way, when others need some of it, then they wait or are
    // told to come back, and are not told that it is used up.
    const { persona, quota } = await world.within({ output_tokens: 2000 });
    world.script("at leisure", { ...endless, usage: { input: 9, output: 900 } });
    world.script("beside", { text: "Beside.", usage: { input: 9, output: 5 } });
    const together = await world.begin([{ do: "together", prompts: ["at leisure", "beside"] }], { persona });
    await world.heardSome(together);
    assert.equal(world.requests("beside").length, 0, "the other call waits");
    const refused = await world.client.post("/v1/tasks", {
      session_id: together.session_id,
      persona_id: persona.id,
      input: { ops: [] },
    });
    assert.equal(refused.status, 429);
    assert.equal(refused.body.error.code, "rate_limited");
    world.models.release();
    const ended = await world.ended(together);
    assert.match(String(await world.output(ended)), /Beside\.$/);
    assert.equal((await usageOf(world.client, quota.id)).output_tokens, 905);
    const told = (await world.events(ended)).filter(({ event }) => event.includes("quota.exhausted"));
    assert.deepEqual(told, []);
  });

  test("WHY-1 a task waiting for a budget reserved by another task names that quota", async () => {
    // Given a budget that is reserved for another task's answer, when it is asked why a task waits, then it is that
    // quota.
    const { persona, quota } = await world.within({ output_tokens: 2000 });
    world.script("taking all", { ...endless, usage: { input: 9, output: 900 } });
    const next = await world.begin(
      [
        { do: "step", gate: "after-you" },
        { do: "generate", prompt: "taking little" },
      ],
      { persona },
    );
    await world.noted("after-you");
    const first = await world.begin([{ do: "stream", prompt: "taking all" }], { persona });
    await world.heardSome(first);
    world.open("after-you");
    const { body } = await until(
      () => world.client.get(`/v1/tasks/${next.id}/why`),
      ({ body: told }) => told.waits_for === "quota",
    );
    assert.match(body.sentence, new RegExp(`what is left of quota ${quota.id} is reserved for models`));
    assert.deepEqual(body.about, [{ object: "quota", id: quota.id }]);
    world.models.release();
    assert.equal((await world.ended(next)).status, "COMPLETED");
  });

  test("MTE-12 a used up token budget cuts the answer off and fails the task with it logged", async () => {
    // Given a model that says more than it is asked for, when the budget is used up, then it is cut off in mid-stream,
    // and the task fails with what it said in the log.
    const { persona, quota } = await world.within({ output_tokens: 50 });
    world.script("endless", endless);
    const task = await world.play([{ do: "generate", prompt: "endless" }], { persona });
    const [request, ...more] = world.requests("endless");
    assert.deepEqual(more, []);
    assert.equal(await request?.isLeft, true, "the connection is closed");
    assert.equal(request?.body.max_tokens, 50);
    assert.equal(task.status, "FAILED");
    assert.equal(task.failure.code, "policy_violation");
    assert.equal(task.failure.details.quota_id, quota.id);
    const [span] = await world.spans(task);
    assert.equal(span.model_call.is_cut, true);
    assert.match(span.result.output.message.content, /^on and on and on it goes/);
    const used = await usageOf(world.client, quota.id);
    assert.equal(used.output_tokens, span.model_call.usage.output_tokens);
    assert.ok(used.output_tokens < 120, `${used.output_tokens} tokens`);
  });

  test("MTE-12 a used up dollar budget cuts the answer off in mid-stream", async () => {
    // Given a budget in dollars, when the model says more than it is good for, then it is cut off in mid-stream, too.
    const { persona } = await world.within({ usd: 0.05 });
    world.script("without end", endless);
    const task = await world.play([{ do: "stream", prompt: "without end", model: "local/priced" }], {
      persona,
    });
    assert.equal(await world.requests("without end")[0]?.isLeft, true);
    assert.equal(task.failure?.code, "policy_violation");
    assert.equal(task.failure.details.limit, "usd");
  });

  test("MTE-12 a used up time budget cuts the answer off in mid-stream without a retry", async () => {
    // Given a budget of time, when the model speaks beyond it, then it is cut off in mid-stream, and is not asked again.
    const { persona } = await world.within({ wall_time_ms: 1500 });
    world.script("all day", endless);
    const task = await world.play([{ do: "stream", prompt: "all day" }], { persona });
    assert.equal(await world.requests("all day")[0]?.isLeft, true);
    assert.equal(task.failure?.code, "policy_violation");
    assert.equal(task.failure.details.limit, "wall_time_ms");
    assert.equal(world.requests("all day").length, 1);
  });

  test("MTE-13 approving after a budget cut-off asks the model again unlimited and completes", async () => {
    // Given a budget that asks a person, when the model is cut off by it and the person approves, then the model is
    // asked again without the limit, and the task completes.
    const { persona } = await world.within({ output_tokens: 50 }, { on_exhaustion: "ask" });
    world.script("please", cutByProvider, { text: "The whole of it.", usage: { input: 9, output: 500 } });
    const asked = await untilAsked(await world.begin([{ do: "stream", prompt: "please" }], { persona }));
    await respond(asked, true);
    assert.equal(await world.output(await world.ended(asked)), "The whole of it.");
    assert.deepEqual(
      world.requests("please").map(({ body }) => body.max_tokens),
      [50, undefined],
    );
  });

  test("MTE-13 approving a budget question after a kill asks once more and counts once", async () => {
    // Given such a question that is open, when the server is killed and the person approves afterwards, then the model
    // is asked once more and what was counted is counted once.
    const { persona, quota } = await world.within({ output_tokens: 50 }, { on_exhaustion: "ask" });
    world.script("later", cutByProvider, { text: "In the end.", usage: { input: 9, output: 70 } });
    const asked = await untilAsked(await world.begin([{ do: "generate", prompt: "later" }], { persona }));
    await world.crash();
    await respond(asked, true);
    assert.equal(await world.output(await world.ended(asked)), "In the end.");
    assert.equal(world.requests("later").length, 2);
    assert.equal((await usageOf(world.client, quota.id)).output_tokens, 120);
  });

  test("MTE-13 denying a budget question fails the task without asking the model again", async () => {
    // Given a budget that asks a person, when the person says no, then the task fails and the model is not asked again.
    const { persona } = await world.within({ output_tokens: 50 }, { on_exhaustion: "ask" });
    world.script("denied", cutByProvider);
    const asked = await untilAsked(await world.begin([{ do: "generate", prompt: "denied" }], { persona }));
    await respond(asked, false);
    assert.equal((await world.ended(asked)).failure?.code, "policy_violation");
    assert.equal(world.requests("denied").length, 1);
  });

  test("MTE-14 a provider that stops at the limit but reports less is not asked forever", async () => {
    // Given a provider that stops at the limit and says that it used less, when the budget is left over, then it is not
    // asked forever.
    const { persona } = await world.within({ output_tokens: 50 });
    world.script("says little", { text: "It", finish: "length", usage: { input: 9, output: 0 } });
    const task = await world.play([{ do: "generate", prompt: "says little" }], { persona });
    assert.equal(task.failure?.code, "policy_violation");
    assert.equal(world.requests("says little").length, 1);
  });

  test("MTE-7 replaying the log of budget events rebuilds the same documents", async () => {
    // Given all that happened to budgets, when the log is read from its beginning, then its documents are what its
    // events say.
    await world.server.stop();
    await assertRebuildable(world.data);
  });
});
