/** What a model says, told while it says it: how often, to whom, and what must not be in it. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Client, type Json, userMessage } from "../support/client.ts";
import { filler, ModelWorld } from "../support/model-runs.ts";
import { createPersona } from "../support/policy.ts";

let world: ModelWorld;
/** May read everything but what is internal. */
let outsider: Client;

before(async () => {
  world = await ModelWorld.start();
  outsider = await world.client.withScopes("sessions:read", "tasks:read", "messages:read", "events:read");
});
after(() => world[Symbol.asyncDispose]());

async function keep(name: string, value: string): Promise<void> {
  const { body: vault } = await world.client.post("/v1/vaults", {
    provider: "local",
    capabilities: ["read", "write", "delete"],
    workspace_id: "workspace_default",
  });
  const { status, body } = await world.client.call(`/v1/vaults/${vault.id}/secrets/${name}`, {
    method: "PUT",
    body: { value },
  });
  assert.ok(status < 300, JSON.stringify(body));
}

describe("what a model says while it speaks", () => {
  test("MTE-15 an answer in two thousand pieces is streamed whole and in order in few events", async () => {
    // Given an answer in two thousand pieces, when it is streamed, then a few events have all of it, in order.
    const chunks = Array.from({ length: 2000 }, (_, n) => `piece ${n}, `);
    world.script("in pieces", { chunks });
    const task = await world.play([{ do: "stream", prompt: "in pieces" }]);
    const deltas = await world.deltas(task);
    assert.ok(deltas.length > 1 && deltas.length < 60, `${deltas.length} events`);
    assert.deepEqual(
      deltas.map(({ index }) => index),
      deltas.map((_, index) => index),
    );
    assert.equal(deltas.map(({ text }) => text).join(""), chunks.join(""));
    assert.equal(await world.output(task), chunks.join(""));
  });

  test("MTE-15 the pieces of a broken-off answer and its retry name their attempt", async () => {
    // Given an answer that broke off and one after it, when their pieces are read, then each says which attempt it is
    // of.
    world.script("twice", { chunks: ["A false start."], fault: "cut" }, { text: "The real one." });
    const task = await world.play([{ do: "stream", prompt: "twice" }]);
    const said = (attempt: number, deltas: Json[]) =>
      deltas.flatMap((delta) => (delta.attempt === attempt ? [delta.text] : [])).join("");
    const deltas = await world.deltas(task);
    assert.equal(said(1, deltas), "A false start.");
    assert.equal(said(2, deltas), "The real one.");
  });

  test("MTE-27 a failing listener fails the step and does not retry the model", async () => {
    // Given an agent whose listener fails, when the model speaks, then that is a failure of the step and no reason to
    // ask again.
    world.script("stumble", { chunks: ["One, ", "two, ", "three."], usage: { input: 3, output: 4 } });
    const task = await world.play([{ do: "stream", prompt: "stumble", failsAtText: "two" }]);
    assert.equal(task.failure?.code, "step_failed", JSON.stringify(task.failure));
    assert.match(task.failure.message, /stumbles over two/);
    assert.equal(world.requests("stumble").length, 1);
    const [span] = await world.spans(task, "span.failed");
    assert.deepEqual(span.model_call.usage, { input_tokens: 3, output_tokens: 4 });
  });

  test("MTE-16 a key without internal access sees that a run's own pieces exist, not their text", async () => {
    // Given pieces of a run's own, when a key without the right to internal content reads them, then it sees that there
    // were some and not what they say.
    world.script("hush", { text: "Between the two of us." });
    const task = await world.play([{ do: "stream", prompt: "hush" }]);
    const deltas = await world.deltas(task, outsider);
    assert.ok(deltas.length > 0);
    assert.ok(!JSON.stringify(deltas).includes("Between"));
    assert.match(JSON.stringify(await world.deltas(task)), /Between the two of us/);
    const [started] = (await world.events(task, outsider)).filter(({ event }) => event === "span.started");
    assert.ok(!JSON.stringify(started).includes("hush"), "nor what the model was asked");
  });

  test("MTE-16 a key without internal access sees the text of the assistant's pieces", async () => {
    // Given the pieces of the assistant, when a key without the right to internal content reads them, then it sees what
    // they say.
    const persona = await createPersona(world.client, { name: "Open", entry_workflow: "assistant" });
    world.script("aloud", { text: "For everybody to hear." });
    const { body: task } = await world.client.post(
      "/v1/tasks",
      { session_id: world.sessionId, persona_id: persona.id, input: userMessage("Say it aloud.") },
      { prefer: "wait=30" },
    );
    assert.equal(task.status, "COMPLETED", JSON.stringify(task));
    const deltas = await world.deltas(task, outsider);
    assert.equal(deltas.map(({ text }) => text).join(""), "For everybody to hear.");
  });

  const secrets = {
    short: "correct-horse-battery-staple",
    long: Array.from({ length: 60 }, (_, n) => `horse${n * 7919}x`).join(""),
  };
  for (const [length, secret] of Object.entries(secrets)) {
    const middle = Math.floor(secret.length / 2);
    const halves = [secret.slice(0, middle), secret.slice(middle)] as const;

    test(`MTE-17 a ${length} vault secret split over two pieces is in no event`, async () => {
      // Given a ${length} secret from a vault, when the model says it in two pieces, then no event has either.
      const name = `TOKEN_${length.toUpperCase()}`;
      await keep(name, secret);
      const chunks = [filler, halves[0], halves[1], filler.repeat(3), filler.repeat(10)];
      world.script(`tell the ${length}`, { chunks, chunkDelayMs: 300 });
      const ops = [
        { do: "secret", name },
        { do: "stream", prompt: `tell the ${length}` },
      ];
      const task = await world.play(ops);
      assert.match(await world.output(task), /A sentence/);
      const told = JSON.stringify(await world.events(task));
      assert.match(told, /A sentence/);
      for (const half of halves) assert.ok(!told.includes(half.slice(0, 12)), "a piece of it was told");
    });

    test(`MTE-17 a ${length} vault secret cut off by a budget is in no event, not even in part`, async () => {
      // Given a ${length} secret from a vault, when a budget cuts the answer off in the middle of it, then no event has
      // what was said of it.
      const name = `CUT_${length.toUpperCase()}`;
      await keep(name, secret);
      const { persona } = await world.within({ output_tokens: 50 });
      const said = filler.repeat(6);
      world.script(`cut the ${length}`, { chunks: [said + halves[0], halves[1]], holdAfterChunks: 1 });
      const ops = [
        { do: "secret", name },
        { do: "stream", prompt: `cut the ${length}` },
      ];
      const task = await world.play(ops, { persona });
      assert.equal(task.failure?.code, "policy_violation", JSON.stringify(task));
      const [, span] = await world.spans(task);
      assert.equal(span.result.output.message.content, said);
      const told = JSON.stringify(await world.events(task));
      assert.ok(!told.includes(halves[0].slice(0, 12)), "a piece of it was told");
    });

    test(`MTE-17 a ${length} vault secret in a broken-off answer is in no event, not even in part`, async () => {
      // Given a ${length} secret from a vault, when the answer breaks off in the middle of it, then no event has what
      // was said of it.
      const name = `BROKEN_${length.toUpperCase()}`;
      await keep(name, secret);
      const broken = { chunks: [filler, halves[0]], fault: "cut" } as const;
      world.script(`break the ${length}`, broken, { text: "It is a secret." });
      const ops = [
        { do: "secret", name },
        { do: "stream", prompt: `break the ${length}` },
      ];
      const task = await world.play(ops);
      assert.match(await world.output(task), /It is a secret/);
      const told = JSON.stringify(await world.events(task));
      assert.match(told, /A sentence/);
      assert.ok(!told.includes(halves[0].slice(0, 12)), "a piece of it was told");
    });
  }
});

describe("what a model thinks", () => {
  const call = { id: "call_1", name: "lamp_look", input: { gate: "thoughts" } };

  for (const model of ["anthropic/claude-sonnet-5-5", "openai/gpt-6-sol", "google/gemini-3.8-flash"]) {
    test(`MTE-21 thoughts of ${model} are in no event and none returns changed after a tool call`, async () => {
      // Given thoughts of ${model} before a tool call, when it hears what the tool gave, then its thoughts are in no
      // event, and none goes back to it changed.
      world.open("thoughts");
      world.script(model, { reasoning: "I had better look.", toolCalls: [call] }, { text: "It is on." });
      const task = await world.play([{ do: "stream", prompt: model, model, tools: ["lamp.look"] }]);
      assert.equal(await world.output(task), "It is on.");
      const [, second] = world.requests(model);
      const sent = JSON.stringify(second?.body);
      assert.match(sent, /is through thoughts/);
      assert.ok(!sent.includes("[redacted"), sent);
      assert.ok(!sent.includes('"thinking"'), "a thought without its text has no signature");
      if (model.startsWith("openai")) assert.match(sent, /encrypted-thought==/);
      if (model.startsWith("google")) assert.match(sent, /"thoughtSignature":"signature-of-the-thought=="/);
      assert.ok(!JSON.stringify(await world.events(task)).includes("I had better look"));
    });
  }
});
