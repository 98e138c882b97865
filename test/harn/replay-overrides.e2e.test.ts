/** Overrides of model calls in the forms in which providers answer, and what receipts say of overrides. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { defineAgent } from "bridle";
import { scripted } from "../../src/testing/scripted.ts";
import { Client, isFinal, type Json } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

/** Says what the model says, and which tools it would have called. */
const asker = defineAgent({
  name: "asker",
  version: "1.0.0",
  async run(ctx) {
    const { text } = await ctx.model.generate({ label: "main", prompt: "Well?" });
    await ctx.now("lunch");
    return text;
  },
});

let server: TestServer;
let client: Client;
let source: Json;
before(async () => {
  const models = scripted(() => "As recorded.");
  server = await startServer({ config: { agents: [asker], models } });
  client = new Client(server);
  const session = await client.createSession();
  const task = await client.submit(session.id, "go", { persona_id: "persona_asker" });
  source = await client.untilTask(task.id, isFinal);
  assert.equal(source.status, "COMPLETED", JSON.stringify(source));
});
after(() => server[Symbol.asyncDispose]());

async function replay(override: object): Promise<Json> {
  const { status, body } = await client.post(`/v1/tasks/${source.id}/replay`, {
    mode: "with_overrides",
    override,
  });
  assert.equal(status, 202, JSON.stringify(body));
  return await client.untilTask(body.id, isFinal);
}

async function said(task: Json): Promise<string> {
  const { body } = await client.get(`/v1/outcomes/${task.outcome_id}`);
  return body.messages[0].parts[0].text;
}

const answers: Record<string, unknown> = {
  text: "Done.",
  "OpenAI chat": {
    id: "chatcmpl_fixture_1",
    choices: [{ message: { role: "assistant", content: "Done." } }],
  },
  "OpenAI responses": {
    id: "resp_1",
    output: [
      { type: "reasoning", summary: [] },
      { type: "message", content: [{ type: "output_text", text: "Done." }] },
    ],
  },
  Anthropic: {
    type: "message",
    content: [
      { type: "thinking", thinking: "Hm." },
      { type: "text", text: "Done." },
    ],
  },
  Google: { candidates: [{ content: { parts: [{ text: "Hm.", thought: true }, { text: "Done." }] } }] },
  "the log": {
    message: { role: "assistant", content: "Done." },
    finish_reason: "stop",
    usage: { input_tokens: 1, output_tokens: 1, usd: 0 },
    model: "a/b",
  },
};

test("RPL-18 the answer of a model is given in the form of any provider", async () => {
  for (const [form, value] of Object.entries(answers)) {
    const task = await replay({ "llm:main:1": { kind: "llm_provider_response", value } });
    assert.equal(task.status, "COMPLETED", form);
    assert.equal(await said(task), "Done.", form);
  }
});

test("RPL-18 a value that is no answer is refused, with the forms that are", async () => {
  for (const value of [{ text: "Done." }, 7, ["Done."], null]) {
    const override = { "llm:main:1": { kind: "llm_provider_response", value } };
    const { status, body } = await client.post(`/v1/tasks/${source.id}/replay`, {
      mode: "with_overrides",
      override,
    });
    assert.equal(status, 400, JSON.stringify(value));
    assert.equal(body.error.param, "override.llm:main:1.value");
    assert.match(body.error.message, /OpenAI.*Anthropic.*Google/);
  }
});

test("RPL-19 deltas are ordered by key and name their event; the task of the receipt can be read", async () => {
  const events = await client.listAll(`/v1/tasks/${source.id}/events`);
  const { id: event_id } = events.find(
    ({ event, payload }) => event === "span.completed" && payload.kind === "llm",
  );
  const created = "2026-04-25T19:16:14Z";
  const task = await replay({
    "time:lunch": { kind: "time", value: 0 },
    "time:created_at": { kind: "time", value: created },
    "llm:main:1": { kind: "llm_provider_response", value: "Done.", event_id },
  });
  const { body: receipt } = await client.get(`/v1/receipts/${task.receipt_id}`);
  assert.deepEqual(
    receipt.deltas.map((delta: Json) => [delta.override_key, delta.event_id]),
    [
      ["llm:main:1", event_id],
      ["time:created_at", undefined],
      ["time:lunch", undefined],
    ],
  );
  assert.equal(receipt.lifecycle.created_at, created);
  assert.equal((await client.get(`/v1/tasks/${receipt.identifiers.task_id}`)).status, 200);
});
