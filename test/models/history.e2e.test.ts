/** What stays of model and tool calls: how much it takes, how it is repeated, how it goes away, and how it travels. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { filesWith } from "../support/canaries.ts";
import { isFinal, type Json } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { filler, ModelWorld } from "../support/model-runs.ts";

let world: ModelWorld;
before(async () => {
  world = await ModelWorld.start();
});
after(() => world[Symbol.asyncDispose]());

const page = filler.repeat(20);

async function newSession(): Promise<string> {
  return (await world.client.createSession()).id;
}

/** How many bytes the beginnings of model calls take in the log, call by call. */
async function bytesOf(tasks: Json[]): Promise<number[]> {
  const spans = await Promise.all(tasks.map((task) => world.spans(task, "span.started")));
  return spans.flat().map((payload) => JSON.stringify(payload).length);
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function assertLinear(bytes: number[]): void {
  const half = bytes.length / 2;
  const [first, second] = [sum(bytes.slice(0, half)), sum(bytes.slice(half))];
  assert.ok(second < first * 1.3, `${second} bytes in the second half, ${first} in the first`);
}

describe("a long conversation", () => {
  test("MTE-22 the second half of forty long turns costs the same as the first", async () => {
    // Given forty turns of a page each, when all of them are sent with each call, then the second half costs what the
    // first did.
    world.script("Turn", { text: page });
    const task = await world.play([{ do: "chat", turns: 40, text: `${page} Turn` }]);
    assert.deepEqual(await world.output(task), [80]);
    const bytes = await bytesOf([task]);
    assert.equal(bytes.length, 40);
    assertLinear(bytes);
    const last = world.requests("Turn 40").at(-1)?.body.messages;
    assert.equal(Array.isArray(last) && last.length, 79, "the model is sent all of it");
  });

  test("MTE-22 repeated content in a conversation costs no more with each call", async () => {
    // Given a conversation in which the same is said again and again, when it is sent with each call, then that costs no
    // more.
    world.script("Go on", { text: "Very well, go on." });
    const task = await world.play([{ do: "chat", turns: 40, text: "Go on.", isSame: true }]);
    assertLinear(await bytesOf([task]));
  });

  test("MTE-22 calls of a session's last tasks cost the same as those of its first", async () => {
    // Given a session of many tasks, when each is sent what was said before it, then the calls of the last tasks cost
    // what those of the first did.
    const sessionId = await newSession();
    world.script("Remember", { text: page });
    const tasks: Json[] = [];
    for (let turn = 1; turn <= 12; turn++) {
      tasks.push(await world.play([{ do: "remember", text: `${page} Remember ${turn}` }], { sessionId }));
    }
    assertLinear(await bytesOf(tasks));
    const last = world.requests("Remember 12").at(-1)?.body.messages;
    assert.equal(Array.isArray(last) && last.length >= 12, true, "the model is sent what was said before");
  });
});

const ops = [
  { do: "generate", label: "plan", prompt: `${page} canary8c1e plan`, system: "canary8c1e system" },
  { do: "tool", name: "lamp.look", input: { gate: "history" } },
  { do: "tool", name: "everything.echo", input: { text: "canary8c1e echo" } },
  { do: "stream", label: "tell", prompt: "canary8c1e tell", tools: ["lamp.look"] },
];
const call = { id: "call_1", name: "lamp_look", input: { gate: "history" } };

async function fullTask(sessionId: string): Promise<Json> {
  world.open("history");
  world.script("canary8c1e plan", { text: `canary8c1e planned. ${page.repeat(20)}` });
  world.script("canary8c1e tell", { text: "canary8c1e hm", toolCalls: [call] }, { text: "canary8c1e told." });
  const task = await world.play(ops, { sessionId });
  assert.equal(task.status, "COMPLETED", JSON.stringify(task.failure));
  return task;
}

async function replayed(by: ModelWorld, task: Json, request: object): Promise<Json> {
  const { status, body } = await by.client.post(`/v1/tasks/${task.id}/replay`, request);
  assert.equal(status, 202, JSON.stringify(body));
  return await by.client.untilTask(body.id, isFinal);
}

async function assertNothingDone<T>(by: ModelWorld, work: () => Promise<T>): Promise<T> {
  const before = [by.models.requests.length, by.notes("lamp").length];
  const done = await work();
  assert.deepEqual([by.models.requests.length, by.notes("lamp").length], before);
  return done;
}

describe("a task with model and tool calls", () => {
  test("MTE-23 an exact replay of the log reaches the same end without asking anybody", async () => {
    // Given its log, when it is replayed exactly, then it comes to the same end without asking anybody.
    const task = await fullTask(await newSession());
    const replay = await assertNothingDone(world, () => replayed(world, task, { mode: "exact" }));
    assert.equal(replay.status, "COMPLETED", JSON.stringify(replay.failure));
    const steps = async (of: Json) => (await world.spans(of)).map(({ step }) => step);
    assert.deepEqual(await steps(replay), await steps(task));
  });

  test("MTE-23 a replay with a substituted model answer gives it to the agent, asking nobody", async () => {
    // Given another answer in the place of a model's, when it is replayed, then the agent is given that, and nobody is
    // asked.
    const task = await world.play([{ do: "generate", label: "plan", prompt: "what was said" }]);
    const override = { "llm:plan:1": { kind: "llm_provider_response", value: "Something else." } };
    const replay = await assertNothingDone(world, () =>
      replayed(world, task, { mode: "with_overrides", override }),
    );
    assert.equal(replay.status, "COMPLETED", JSON.stringify(replay.failure));
    const { body: outcome } = await world.client.get(`/v1/outcomes/${replay.outcome_id}`);
    assert.match(JSON.stringify(outcome), /Something else/);
  });

  test("MTE-25 an imported session keeps its large calls and replays without asking anybody", async () => {
    // Given a session with large answers, when it is exported and imported elsewhere, then its calls are there as they
    // were, and can be replayed without asking anybody.
    const sessionId = await newSession();
    const task = await fullTask(sessionId);
    const response = await fetch(`${world.client.url}/v1/sessions/${sessionId}/export`, {
      headers: world.client.headers(),
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    await using elsewhere = await ModelWorld.start();
    const { status, body } = await elsewhere.client.call("/v1/sessions/import", {
      raw: text,
      headers: { "content-type": "application/jsonl" },
    });
    assert.equal(status, 201, JSON.stringify(body));
    for (const event of ["span.started", "span.completed", "span.updated"]) {
      assert.deepEqual(await elsewhere.spans(task, event), await world.spans(task, event));
    }
    const replay = await assertNothingDone(elsewhere, () => replayed(elsewhere, task, { mode: "exact" }));
    assert.equal(replay.status, "COMPLETED", JSON.stringify(replay.failure));
    await elsewhere.server.stop();
    await assertRebuildable(elsewhere.data);
  });

  test("MTE-24 erasing sessions leaves no prompt, answer, piece or result and a sound log", async () => {
    // Given sessions with prompts, answers, pieces and results, when they are erased, then no file has anything of them,
    // and the log is sound.
    const sessions = await world.client.listAll("/v1/sessions");
    assert.ok(filesWith(world.data, "canary8c1e").length > 0, "the search finds what is there");
    for (const { id } of sessions) {
      const { status, body } = await world.client.post(`/v1/sessions/${id}/erase`, { reason: "asked" });
      assert.equal(status, 200, JSON.stringify(body));
    }
    assert.deepEqual(filesWith(world.data, "canary8c1e"), []);
    await world.server.stop();
    await assertRebuildable(world.data);
    assert.deepEqual(filesWith(world.data, "canary8c1e"), []);
  });
});
