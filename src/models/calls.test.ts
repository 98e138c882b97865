/** Calls of each kind of provider, whole and streamed. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { encryptedThought } from "../../test/support/model-dialect-responses.ts";
import { thoughtSignature } from "../../test/support/model-dialects.ts";
import { ModelServer } from "../../test/support/model-server.ts";
import { callOnce, modelKeys, modelNames, modelsAt } from "../../test/support/models.ts";
import type { JsonObject } from "../store/port.ts";
import type { ModelMessage } from "./messages.ts";
import type { ModelDelta, ModelSource } from "./model.ts";

const server = new ModelServer();
let models: ModelSource;
before(async () => {
  await server.start();
  models = modelsAt(server);
});
after(() => server.stop());

/** The body of the last request, as text to look things up in. */
function sent(): string {
  return JSON.stringify(server.requests.at(-1)?.body);
}

const place: JsonObject = {
  type: "object",
  properties: { place: { type: "string" } },
  required: ["place"],
  additionalProperties: false,
};
const tools = [{ name: "weather", description: "Tells the weather.", input: place }];

for (const name of modelNames) {
  const provider = name.split("/")[0] as keyof typeof modelKeys;
  for (const isStreamed of [false, true]) {
    const of = `${name}, ${isStreamed ? "streamed" : "whole"}`;

    test(`MDL-1, MDL-7 ${of}: the answer has text, reason, usage and message`, async () => {
      // Given ${of}, when it is called, then the answer has text, reason, usage and message.
      const before = server.requests.length;
      server.reply({ text: "It is sunny.", usage: { input: 12, output: 7 } });
      const { answer } = await callOnce(models, name, {
        isStreamed,
        messages: [
          { role: "system", content: "Be brief." },
          {
            role: "user",
            content: [
              { type: "text", text: "What is this?" },
              { type: "file", data: { type: "data", data: "iVBORw0KGgo=" }, mediaType: "image/png" },
            ],
          },
        ],
        maxOutputTokens: 77,
        stopSequences: ["END"],
      });
      assert.equal(answer.text, "It is sunny.");
      assert.equal(answer.finishReason, "stop");
      assert.deepEqual(answer.usage, { inputTokens: 12, outputTokens: 7 });
      assert.equal(answer.servedBy, provider === "google" ? null : name.split("/")[1]);
      assert.deepEqual([answer.toolCalls, answer.object], [[], null]);
      const [said] = answer.message.content;
      assert.ok(typeof said === "object" && said.type === "text" && said.text === "It is sunny.");
      assert.equal(server.requests.length, before + 1);
      const request = server.requests.at(-1);
      assert.equal(request?.isStreamed, isStreamed);
      assert.ok(Object.values(request.headers).some((value) => value?.includes(modelKeys[provider])));
      for (const part of ["Be brief.", "What is this?", "iVBORw0KGgo=", "77"])
        assert.ok(sent().includes(part), part);
    });

    test(`MDL-1 given ${of}, when it stops early, then the reason says why`, async () => {
      server.reply({ text: "It is", finish: "length" }, { text: "I", finish: "content-filter" });
      assert.equal((await callOnce(models, name, { isStreamed })).answer.finishReason, "length");
      assert.equal((await callOnce(models, name, { isStreamed })).answer.finishReason, "content-filter");
    });

    test(`MDL-2, MDL-3 ${of}: returns the tool request and sends its text along with the result`, async () => {
      // Given ${of}, when it asks for a tool, then the request comes back, and what it said goes along with the result.
      server.reply({
        reasoning: "I should look.",
        text: "Let me see.",
        toolCalls: [
          { id: "call_a", name: "weather", input: { place: "Oslo" } },
          { id: "call_b", name: "weather", input: { place: "Rome" } },
        ],
      });
      const { answer } = await callOnce(models, name, { isStreamed, tools });
      assert.ok(sent().includes(JSON.stringify(place)), "the schema of the tool was sent");
      assert.equal(answer.finishReason, "tool-calls");
      assert.deepEqual(
        answer.toolCalls.map(({ name, input }) => [name, input]),
        [
          ["weather", { place: "Oslo" }],
          ["weather", { place: "Rome" }],
        ],
      );
      assert.deepEqual(JSON.parse(JSON.stringify(answer)), answer, "it is plain JSON");

      server.reply({ text: "Rain and sun." });
      const [a, b] = answer.toolCalls;
      const results: ModelMessage = {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: a?.id ?? "",
            toolName: "weather",
            output: { type: "json", value: { sky: "rainy" } },
          },
          {
            type: "tool-result",
            toolCallId: b?.id ?? "",
            toolName: "weather",
            output: { type: "error-text", value: "no station" },
          },
        ],
      };
      const messages = JSON.parse(
        JSON.stringify([{ role: "user", content: "Oslo?" }, answer.message, results]),
      );
      assert.equal(
        (await callOnce(models, name, { isStreamed, tools, messages })).answer.text,
        "Rain and sun.",
      );
      for (const part of ["Let me see.", "I should look.", "Rome", "rainy", "no station"]) {
        assert.ok(sent().includes(part), part);
      }
      const signature = {
        anthropic: thoughtSignature,
        google: thoughtSignature,
        openai: encryptedThought,
        local: "",
      };
      assert.ok(sent().includes(signature[provider]), "the thought came back with its signature");
    });

    test(`MDL-2 ${of}: returns a request for a tool that was not offered as it is`, async () => {
      // Given ${of}, when it asks for a tool that was not offered, then the request comes back as it is.
      server.reply({ toolCalls: [{ name: "thunder", input: { loud: true } }] });
      const { answer } = await callOnce(models, name, { isStreamed, tools });
      assert.deepEqual(
        answer.toolCalls.map(({ name, input }) => [name, input]),
        [["thunder", { loud: true }]],
      );
      assert.equal(answer.message.content.length, 1);
    });

    test(`MDL-4 ${of}: a schema gives an object, even beside tools, and null for invalid JSON`, async () => {
      // Given ${of} and a schema, when it answers, then there is an object, also beside tools; null when it is no JSON.
      server.reply({ text: '{"place":"Oslo"}' }, { text: '{"place":"Rome"}' }, { text: '{"place":' });
      const first = await callOnce(models, name, { isStreamed, output: place });
      assert.deepEqual(first.answer.object, { place: "Oslo" });
      assert.ok(/json_?schema/i.test(sent()), "the provider was told the schema");
      assert.deepEqual((await callOnce(models, name, { isStreamed, output: place, tools })).answer.object, {
        place: "Rome",
      });
      const broken = await callOnce(models, name, { isStreamed, output: place });
      assert.equal(broken.answer.object, null);
      assert.equal(broken.answer.text, '{"place":');
    });

    test(`MDL-4 given ${of} and a schema, when it asks for a tool instead, then there is no object`, async () => {
      server.reply({ toolCalls: [{ name: "weather", input: { place: "Oslo" } }] });
      const { answer } = await callOnce(models, name, { isStreamed, output: place, tools });
      assert.equal(answer.object, null);
      assert.equal(answer.toolCalls.length, 1);
    });

    test(`MDL-6 given ${of}, when it counts tokens, then all kinds of them are told`, async () => {
      server.reply({
        text: "Yes.",
        usage: { input: 100, output: 30, cached: 40, cacheWrite: 10, reasoning: 20 },
      });
      const { answer } = await callOnce(models, name, { isStreamed });
      assert.deepEqual(answer.usage, {
        inputTokens: 100,
        outputTokens: 30,
        cachedInputTokens: 40,
        ...(provider === "anthropic" ? { cacheWriteTokens: 10 } : { reasoningTokens: 20 }),
      });
      if (provider === "local" && isStreamed)
        assert.ok(sent().includes('"include_usage":true'), "it was asked to count");
    });

    test(`MDL-6 given ${of}, when it does not count tokens, then they are estimated`, async () => {
      server.reply({ text: "a".repeat(400), usage: null });
      const messages: ModelMessage[] = [{ role: "user", content: "b".repeat(4000) }];
      const { usage } = (await callOnce(models, name, { isStreamed, messages })).answer;
      assert.equal(usage.isEstimated, true);
      assert.equal(usage.outputTokens, 100);
      assert.ok(usage.inputTokens >= 1000 && usage.inputTokens < 1100);
    });
  }

  test(`MDL-5 given ${name}, when it streams, then each piece is heard before the next one is sent`, async () => {
    server.reply({ reasoning: "Hm.", chunks: ["It ", "is ", "sunny."], holdAfterChunks: 1 });
    const deltas: ModelDelta[] = [];
    const { promise: heardFirst, resolve } = Promise.withResolvers<void>();
    const call = models.open(name).call(
      { messages: [{ role: "user", content: "Weather?" }] },
      {
        signal: new AbortController().signal,
        onDelta(delta) {
          deltas.push(delta);
          if (delta.type === "text") resolve();
        },
      },
    );
    await heardFirst;
    assert.deepEqual(deltas, [
      { type: "reasoning", text: "Hm." },
      { type: "text", text: "It " },
    ]);
    server.release();
    assert.equal((await call).text, "It is sunny.");
    assert.deepEqual(
      deltas.map(({ text }) => text),
      ["Hm.", "It ", "is ", "sunny."],
    );
  });
}

test("MDL-2 a tool request with invalid JSON has its text as input", async () => {
  // Given a model that gets its JSON wrong, when it asks for a tool, then the input is its text.
  server.reply({ toolCalls: [{ name: "weather", input: '{"place":' }] });
  const { answer } = await callOnce(models, "local/llama", { isStreamed: true, tools });
  assert.deepEqual(answer.toolCalls, [{ id: "call_1", name: "weather", input: '{"place":' }]);
});

test("MDL-4 a schema with an optional property is not strict for OpenAI", async () => {
  // Given a schema with an optional property, when OpenAI is called, then it is not asked to be strict.
  server.reply({ text: "{}" }, { text: "{}" });
  await callOnce(models, "openai/gpt-6-sol", { isStreamed: false, output: place });
  assert.ok(sent().includes('"strict":true'));
  await callOnce(models, "openai/gpt-6-sol", { isStreamed: false, output: { ...place, required: [] } });
  assert.ok(sent().includes('"strict":false'));
});

test("MDL-1 given OpenAI, when it is called, then nothing is kept there", async () => {
  server.reply({ text: "Yes." });
  await callOnce(models, "openai/gpt-6-sol", { isStreamed: false });
  assert.equal(server.requests.at(-1)?.body.store, false);
});

test("MDL-1 given all that can be said about a call, when it is sent, then the provider is told", async () => {
  server.reply({ text: "Yes." });
  await callOnce(models, "local/llama", {
    isStreamed: false,
    tools,
    toolChoice: "none",
    maxOutputTokens: 77,
    temperature: 0.25,
    topP: 0.75,
    stopSequences: ["END"],
    seed: 7,
  });
  const { max_tokens, temperature, top_p, stop, seed, tool_choice } = server.requests.at(-1)?.body ?? {};
  assert.deepEqual(
    [max_tokens, temperature, top_p, stop, seed, tool_choice],
    [77, 0.25, 0.75, ["END"], 7, "none"],
  );
});
