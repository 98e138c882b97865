/**
 * One crash, with a task in the middle of everything that a task can be in the middle of when it calls models and tools. All
 * of them are begun first, then the server is killed, and each test looks at what became of one of them.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Json, until } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { filler, heldAnswer, ModelWorld } from "../support/model-runs.ts";
import { createPersona, receiptOf, usageOf } from "../support/policy.ts";

const usage = { input: 100, output: 40 };

let world: ModelWorld;
const tasks: Record<string, Json> = {};
let quotas: Record<string, Json> = {};

/** Those that are asked by the MCP server, and the question that they have put to a person. */
async function untilAsked(task: Json): Promise<Json> {
  return await world.client.untilTask(task.id, ({ status }) => status === "INPUT_REQUIRED");
}

before(async () => {
  world = await ModelWorld.start();
  world.script("halfway", heldAnswer(filler), { text: "All of it.", usage });
  world.script("answered", { text: "Once only.", usage });
  world.script("rationed", heldAnswer(filler), { text: "Within the ration.", usage });
  world.script("paid for", heldAnswer(filler), { text: "Within the money.", usage });
  const call = { name: "everything_elicits", input: { question: "Which colour?" } };
  world.script("colour", { toolCalls: [call] }, { text: "Green it is." });

  const rationed = await world.within({ output_tokens: 10_000 });
  const paid = await world.within({ usd: 10 });
  quotas = { rationed: rationed.quota, paid: paid.quota };
  const assistant = await createPersona(world.client, {
    name: "Helper",
    entry_workflow: "assistant",
    tools: ["everything.elicits"],
  });

  tasks.halfway = await world.begin([{ do: "stream", label: "tell", prompt: "halfway" }]);
  tasks.answered = await world.begin([
    { do: "stream", prompt: "answered" },
    { do: "step", gate: "after" },
  ]);
  tasks.rationed = await world.begin([{ do: "stream", prompt: "rationed" }], rationed);
  tasks.paid = await world.begin([{ do: "stream", prompt: "paid for", model: "local/priced" }], paid);
  tasks.launched = await world.begin([
    { do: "tool", name: "rocket.launch", input: { gate: "launch" } },
    { do: "generate", prompt: "must not be asked" },
  ]);
  tasks.turned = await world.begin([{ do: "tool", name: "valve.turn", input: { gate: "turn" } }]);
  tasks.asked = await world.client.submit(world.sessionId, "Which colour shall it be?", {
    persona_id: assistant.id,
  });
  tasks.direct = await world.begin([
    { do: "tool", name: "everything.elicits", input: { question: "How many?" } },
  ]);
  tasks.wild = await world.begin([{ do: "tool", name: "wild.elicits", input: { question: "How wild?" } }]);

  for (const name of ["halfway", "rationed", "paid"]) await world.heardSome(tasks[name]);
  await world.noted("waiting after");
  await world.noted("rocket.launch");
  await world.noted("valve.turn");
  await untilAsked(tasks.asked);
  await untilAsked(tasks.direct);
  await untilAsked(tasks.wild);
  await world.crash();
  for (const gate of ["after", "launch", "turn"]) world.open(gate);
});
after(() => world[Symbol.asyncDispose]());

describe("a server that is killed in the middle of model and tool calls", () => {
  test("MTE-1 a restart asks the model again for a half-told answer and completes the task", async () => {
    // Given an answer that was half told, when the server is started again, then the model is asked once more and the
    // task completes with the whole answer.
    const task = await world.ended(tasks.halfway);
    assert.equal(await world.output(task), "All of it.");
    assert.equal(world.requests("halfway").length, 2);
    const [first, second] = world.requests("halfway");
    assert.deepEqual(second?.body, first?.body);
    assert.equal(await first?.isLeft, true);
    const { usage: counted } = (await world.spans(task))[0].model_call;
    assert.deepEqual(counted, { input_tokens: 100, output_tokens: 40 });
  });

  test("MTE-2 a kill in the step after a recorded answer never asks the model again", async () => {
    // Given an answer that was recorded, when the server is killed in the step after it, then the model is never asked
    // again.
    const task = await world.ended(tasks.answered);
    assert.equal(task.status, "COMPLETED", JSON.stringify(task.failure));
    assert.equal(world.requests("answered").length, 1);
    assert.equal(world.notes("waiting after").length, 2);
  });

  test("MTE-3 a call repeated after a crash has the same token budget and counts once", async () => {
    // Given a budget in tokens and a call that was cut off by the crash, when it is made again, then it has the same
    // room as before, and the quota has counted what was recorded, once.
    const task = await world.ended(tasks.rationed);
    assert.equal(await world.output(task), "Within the ration.");
    const limits = world.requests("rationed").map(({ body }) => body.max_tokens);
    assert.deepEqual(limits, [10_000, 10_000]);
    const used = await usageOf(world.client, quotas.rationed.id);
    assert.equal(used.output_tokens, 40);
    assert.equal(used.input_tokens, 100);
  });

  test("MTE-3 a call repeated after a crash counts its price once in the dollar quota", async () => {
    // Given a budget in dollars and a call that was cut off by the crash, when it is made again, then the quota has
    // counted it by its price, once.
    const task = await world.ended(tasks.paid);
    assert.equal(await world.output(task), "Within the money.");
    const [first, second] = world.requests("paid for").map(({ body }) => body.max_tokens);
    assert.equal(second, first);
    const used = await usageOf(world.client, quotas.paid.id);
    assert.equal(used.usd, (100 * 10 + 40 * 1000) / 1e6);
    const receipt = await receiptOf(world.client, task);
    assert.equal(receipt.autonomy_budget.consumed.usd, used.usd);
  });

  test("MTE-4 a restart does not repeat an irreversible tool and fails with outcome_unknown", async () => {
    // Given an irreversible tool in the middle of its work, when the server is started again, then it is not called
    // again and the task fails with outcome_unknown.
    const task = await world.ended(tasks.launched);
    assert.equal(task.status, "FAILED");
    assert.equal(task.failure.code, "outcome_unknown");
    assert.equal(world.notes("rocket.launch").length, 1);
    assert.equal(world.requests("must not be asked").length, 0);
  });

  test("MTE-5 a restart repeats a reversible tool with the same idempotency key", async () => {
    // Given a reversible tool in the middle of its work, when the server is started again, then it is called again with
    // the same idempotency key.
    const task = await world.ended(tasks.turned);
    assert.equal(await world.output(task), "valve.turn is through turn");
    const calls = world.notes("valve.turn");
    assert.equal(calls.length, 2);
    assert.equal(new Set(calls).size, 1, "the same key both times");
    assert.match(calls[0] ?? "", new RegExp(`${task.id}:tool:valve.turn:1$`));
  });

  test("MTE-6 an MCP server's question answered after a kill lets the assistant continue", async () => {
    // Given a question of an MCP server that was open when the server was killed, when it is answered afterwards, then
    // the tool gives the answer and the assistant goes on with it.
    const asked = await untilAsked(tasks.asked);
    assert.match(asked.waiting_for.description, /Which colour/);
    await world.client.answer(asked.id, '{"answer":"green"}');
    const task = await world.ended(asked);
    assert.equal(await world.output(task), "Green it is.");
    const [first, second, ...more] = world.requests("Which colour shall");
    assert.deepEqual(more, []);
    assert.ok(!JSON.stringify(first?.body).includes("green"));
    assert.match(JSON.stringify(second?.body), /green/);
    const questions = (await world.events(task)).filter(({ event }) => event === "task.input_required");
    assert.equal(questions.length, 1, "a person is asked once");
  });

  test("MTE-6 an agent's own tool call, answered after a kill, returns the tool's result", async () => {
    // Given such a question of a tool that the agent called itself, when it is answered afterwards, then the agent has
    // what the tool gave.
    await world.client.answer((await untilAsked(tasks.direct)).id, '{"answer":"seven"}');
    assert.equal(await world.output(await world.ended(tasks.direct)), "seven");
  });

  test("MTE-4 an irreversible tool answered after a kill is not repeated: outcome_unknown", async () => {
    // Given such a question of a tool that cannot be undone, when it is answered afterwards, then the tool is not called
    // again and the task fails with outcome_unknown.
    await world.client.answer(tasks.wild.id, '{"answer":"very"}');
    const task = await world.ended(tasks.wild);
    assert.equal(task.failure?.code, "outcome_unknown", JSON.stringify(task));
  });

  test("MTE-7 replaying the log after crashes rebuilds the same documents", async () => {
    // Given all that happened, when the log is read from its beginning, then its documents are what its events say.
    await until(
      () => world.client.listAll(`/v1/tasks?session_id=${world.sessionId}`),
      (all) => all.every(({ status }) => ["COMPLETED", "FAILED"].includes(status)),
    );
    await world.server.stop();
    await assertRebuildable(world.data);
  });
});
