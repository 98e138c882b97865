/** What becomes of a call when a provider fails, in each of the ways in which one can. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { type Fault, ModelServer } from "../../test/support/model-server.ts";
import { callOnce, failureOf, modelKeys, modelNames, modelsAt } from "../../test/support/models.ts";
import type { ModelErrorCode, ModelSource } from "./model.ts";
import { retryAfterMs } from "./retry-after.ts";

const server = new ModelServer();
let models: ModelSource;
before(async () => {
  await server.start();
  models = modelsAt(server);
});
after(() => server.stop());

const statuses: readonly (readonly [number, ModelErrorCode, boolean])[] = [
  [400, "model_refused", false],
  [401, "model_unauthorized", false],
  [403, "model_unauthorized", false],
  [404, "model_refused", false],
  [408, "model_unavailable", true],
  [409, "model_unavailable", true],
  [413, "model_refused", false],
  [422, "model_refused", false],
  [429, "model_rate_limited", true],
  [500, "model_unavailable", true],
  [503, "model_unavailable", true],
  [529, "model_unavailable", true],
];

for (const name of modelNames) {
  for (const isStreamed of [false, true]) {
    const of = `${name}, ${isStreamed ? "streamed" : "whole"}`;

    test(`MDL-7, MDL-10 ${of}: an HTTP status gives the table's error after one request`, async () => {
      // Given ${of}, when it answers with a status, then the error is the one of the table, after one request.
      for (const [status, code, isPassing] of statuses) {
        const before = server.requests.length;
        server.reply({ fault: { status } });
        const error = await failureOf(callOnce(models, name, { isStreamed }));
        assert.deepEqual([error.code, error.isPassing, error.usage], [code, isPassing, null], `${status}`);
        assert.ok(
          error.message.startsWith(`${name} `) && error.message.includes(`(${status})`),
          error.message,
        );
        assert.equal(server.requests.length, before + 1);
      }
    });

    test(`MDL-12 ${of}: a connection reset before the answer is unavailable`, async () => {
      // Given ${of}, when the connection is reset before there is an answer, then it is unavailable.
      server.reply({ text: "", fault: "reset" });
      const error = await failureOf(callOnce(models, name, { isStreamed }));
      assert.deepEqual([error.code, error.isPassing, error.usage], ["model_unavailable", true, null]);
    });

    test(`MDL-13 given ${of}, when it sends what is no JSON, then it is malformed and passes`, async () => {
      server.reply({ text: "It is sunny.", fault: "malformed" });
      const error = await failureOf(callOnce(models, name, { isStreamed }));
      assert.deepEqual([error.code, error.isPassing], ["model_malformed", true]);
    });
  }

  test(`MDL-12 given ${name}, whole, when it is cut, then it is unavailable`, async () => {
    server.reply({ text: "It is sunny.", fault: "cut" });
    const error = await failureOf(callOnce(models, name, { isStreamed: false }));
    assert.deepEqual([error.code, error.isPassing], ["model_unavailable", true]);
  });

  for (const fault of ["cut", "reset", "overloaded"] as const) {
    test(`MDL-12 ${name}, streamed: ${fault} after some pieces is unavailable, with usage`, async () => {
      // Given ${name}, streamed, when ${fault} after some pieces, then it is unavailable, with what was used.
      server.reply({ chunks: ["a".repeat(40), "b".repeat(40)], fault });
      const error = await failureOf(callOnce(models, name, { isStreamed: true }));
      assert.deepEqual([error.code, error.isPassing], ["model_unavailable", true]);
      assert.equal(error.usage?.isEstimated, true);
      assert.equal(error.usage.outputTokens, 20);
      assert.ok(error.usage.inputTokens > 0);
    });

    test(`MDL-12 given ${name}, streamed, when ${fault} before any piece, then it is unavailable`, async () => {
      server.reply({ chunks: [], fault });
      const error = await failureOf(callOnce(models, name, { isStreamed: true }));
      assert.deepEqual([error.code, error.isPassing, error.usage], ["model_unavailable", true, null]);
    });
  }

  test(`MDL-14 ${name}, streamed: silence times out with usage and closes the connection`, async () => {
    // Given ${name}, streamed, when it falls silent, then that is a timeout with what was used, and the connection is
    // closed.
    server.reply({ chunks: ["a".repeat(40)], fault: "hang" });
    const error = await failureOf(
      callOnce(modelsAt(server, { idleTimeoutMs: 200 }), name, { isStreamed: true }),
    );
    assert.deepEqual([error.code, error.isPassing, error.usage?.outputTokens], ["model_timeout", true, 10]);
    assert.match(error.message, /was silent for 200 ms/);
    assert.equal(await server.requests.at(-1)?.isLeft, true);
  });

  test(`MDL-15 ${name}: aborting a stream throws the reason and closes the connection`, async () => {
    // Given ${name}, when it is aborted in the middle of a stream, then the reason is thrown and the connection closed.
    server.reply({ chunks: ["It ", "is"], holdAfterChunks: 1 });
    const abort = new AbortController();
    const reason = new Error("The task was canceled.");
    const call = models
      .open(name)
      .call(
        { messages: [{ role: "user", content: "Weather?" }] },
        { signal: abort.signal, onDelta: () => abort.abort(reason) },
      );
    await assert.rejects(call, (error) => error === reason);
    assert.equal(await server.requests.at(-1)?.isLeft, true);
  });
}

test("MDL-10 an answer without the required tool call is malformed, with usage", async () => {
  // Given a model that must call a tool, when it does not, then that is malformed, with what was used.
  const tools = [{ name: "weather", description: "", input: { type: "object" } }];
  for (const isStreamed of [false, true]) {
    server.reply({ text: "No.", usage: { input: 9, output: 3 } });
    const error = await failureOf(
      callOnce(models, "local/llama", { isStreamed, tools, toolChoice: "required" }),
    );
    assert.deepEqual([error.code, error.usage], ["model_malformed", { inputTokens: 9, outputTokens: 3 }]);
  }
});

test("MDL-10 rejects a conversation without a tool's result before sending anything", async () => {
  // Given a conversation that lacks the result of a tool, when a model is called, then it is refused before anything is
  // sent.
  const before = server.requests.length;
  const error = await failureOf(
    callOnce(models, "local/llama", {
      isStreamed: false,
      messages: [
        { role: "user", content: "Weather?" },
        {
          role: "assistant",
          content: [{ type: "tool-call", toolCallId: "1", toolName: "weather", input: {} }],
        },
        { role: "user", content: "And?" },
      ],
    }),
  );
  assert.deepEqual([error.code, error.isPassing], ["model_refused", false]);
  assert.equal(server.requests.length, before);
});

test("MDL-11 the error of a failed call has the provider's retry time", async () => {
  // Given a provider that says when to come back, when a call fails, then the error says it.
  const after = async (fault: Fault) => {
    server.reply({ fault });
    return (await failureOf(callOnce(models, "anthropic/claude-sonnet-5-5", { isStreamed: false })))
      .retryAfterMs;
  };
  assert.equal(await after({ status: 429, headers: { "retry-after": "7" } }), 7000);
  assert.equal(await after({ status: 429, headers: { "retry-after-ms": "1500", "retry-after": "2" } }), 1500);
  assert.equal(await after({ status: 529, headers: { "retry-after": "86400" } }), 600_000);
  assert.equal(await after({ status: 429 }), null);
  const soon = await after({
    status: 503,
    headers: { "retry-after": new Date(Date.now() + 60_000).toUTCString() },
  });
  assert.ok(soon !== null && soon > 0 && soon <= 60_000, String(soon));
});

test("MDL-11 reads only valid times from the retry-after header", () => {
  // Given what can be written into the header, when it is read, then only times are understood.
  const at = (value: string) =>
    retryAfterMs({ responseHeaders: { "retry-after": value } }, Date.UTC(2026, 0, 1));
  assert.equal(at("Thu, 01 Jan 2026 00:01:00 GMT"), 60_000);
  assert.equal(at("Wed, 31 Dec 2025 00:00:00 GMT"), 0);
  assert.equal(at("soon"), null);
  assert.equal(at("-5"), null);
  assert.equal(retryAfterMs({ responseBody: '{"retryDelay": "34.5s"}' }), 34_500);
});

test("MDL-12 given nobody at the address, when a model is called, then it cannot be reached", async () => {
  const gone = await new ModelServer().start();
  const { url } = gone;
  await gone.stop();
  for (const isStreamed of [false, true]) {
    const error = await failureOf(callOnce(modelsAt({ url }), "local/llama", { isStreamed }));
    assert.deepEqual([error.code, error.isPassing], ["model_unavailable", true]);
    assert.match(error.message, /ECONNREFUSED/);
  }
});

test("MDL-14 a call without an answer times out and closes the connection", async () => {
  // Given no answer, when the time of the call is over, then that is a timeout and the connection is closed.
  const hasty = modelsAt(server, { timeoutMs: 300 });
  for (const name of modelNames) {
    server.reply({ fault: "hang" });
    const error = await failureOf(callOnce(hasty, name, { isStreamed: false }));
    assert.deepEqual([error.code, error.isPassing], ["model_timeout", true]);
    assert.match(error.message, /took longer than 300 ms/);
    assert.equal(await server.requests.at(-1)?.isLeft, true);
  }
});

test("MDL-14 an endless stream times out when the call's time is over", async () => {
  // Given a stream that goes on and on, when the time of the call is over, then that is a timeout, too.
  server.reply({ chunks: Array(1000).fill("more "), chunkDelayMs: 20 });
  const hasty = modelsAt(server, { timeoutMs: 400, idleTimeoutMs: 30_000 });
  const error = await failureOf(callOnce(hasty, "local/llama", { isStreamed: true }));
  assert.equal(error.code, "model_timeout");
  assert.ok((error.usage?.outputTokens ?? 0) > 0);
});

test("MDL-15 a signal that is already aborted sends nothing", async () => {
  // Given a signal that is aborted already, when a model is called, then nothing is sent.
  const before = server.requests.length;
  const call = models
    .open("local/llama")
    .call({ messages: [{ role: "user", content: "Weather?" }] }, { signal: AbortSignal.abort("enough") });
  await assert.rejects(call, (error) => error === "enough");
  assert.equal(server.requests.length, before);
});

test("MDL-15 aborting a waiting call throws the reason and closes the connection", async () => {
  // Given a call that waits, when it is aborted, then the reason is thrown and the connection closed.
  server.reply({ text: "Late.", holdAfterChunks: 0 });
  const abort = new AbortController();
  const call = models
    .open("anthropic/claude-sonnet-5-5")
    .call({ messages: [{ role: "user", content: "Weather?" }] }, { signal: abort.signal });
  await server.held();
  abort.abort("enough");
  await assert.rejects(call, (error) => error === "enough");
  assert.equal(await server.requests.at(-1)?.isLeft, true);
});

test("MDL-15 an error thrown by the listener is rethrown and closes the connection", async () => {
  // Given a program that listens, when it throws, then its error comes out and the connection is closed.
  server.reply({ chunks: ["It ", "is"], holdAfterChunks: 1 });
  const mine = new Error("mine");
  const call = models.open("local/llama").call(
    { messages: [{ role: "user", content: "Weather?" }] },
    {
      signal: new AbortController().signal,
      onDelta: () => {
        throw mine;
      },
    },
  );
  await assert.rejects(call, (error) => error === mine);
  assert.equal(await server.requests.at(-1)?.isLeft, true);
});

test("MDL-16 the error contains nothing that a failing provider echoes", async () => {
  // Given a provider that repeats all that it was sent, when it fails, then nothing of it is in the error.
  const prompt = 'The "password" of the old\n lighthouse:\n it is swordfish, and nobody else may know.';
  const header = "a-header-that-is-secret";
  const apiKey = "plain-key-of-mine";
  const source = modelsAt(server, {
    providers: {
      proxied: { kind: "anthropic", baseUrl: `${server.url}/v1`, apiKey, headers: { "x-pass": header } },
    },
  });
  for (const [name, key] of [
    ["anthropic/claude-sonnet-5-5", modelKeys.anthropic],
    ["openai/gpt-6-sol", modelKeys.openai],
    ["google/gemini-3.8-flash", modelKeys.google],
    ["local/llama", modelKeys.local],
    ["proxied/claude-sonnet-5-5", apiKey],
  ] as const) {
    const message = `Wrong ${key} ${header} at https://me:pw@api.test/v1 https://api.test/v1?key=hidden-query for "${prompt}" \u001b[31m${"x".repeat(5000)}`;
    server.reply({
      fault: {
        status: 400,
        body: JSON.stringify({ type: "error", error: { type: "e", message, code: 400, status: "E" } }),
      },
    });
    const error = await failureOf(
      callOnce(source, name, { isStreamed: false, messages: [{ role: "user", content: prompt }] }),
    );
    const told = `${error.message} ${error.stack} ${JSON.stringify(error)}`;
    assert.match(error.message, /refused the call \(400\): Wrong/);
    assert.ok(error.message.length < 500, "it is short");
    for (const secret of [key, "hidden-query", "me:pw", "swordfish", "lighthouse", "\u001b"]) {
      assert.ok(!told.includes(secret), `${name}: ${secret} in ${told}`);
    }
    assert.equal(
      told.includes(header),
      name !== "proxied/claude-sonnet-5-5",
      "only its own headers are known to be secret",
    );
    assert.equal(error.cause, undefined, "the SDK's error has the whole request");
  }
});

test("MDL-17 a redirect by the provider does not take the key elsewhere", async () => {
  // Given a provider that redirects, when a model is called, then the key goes nowhere else.
  const elsewhere: unknown[] = [];
  const other = createServer((request, response) => {
    elsewhere.push(request.headers);
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await once(other, "listening");
  try {
    const address = other.address();
    assert.ok(typeof address === "object" && address !== null);
    for (const isStreamed of [false, true]) {
      server.reply({ fault: { status: 307, headers: { location: `http://127.0.0.1:${address.port}/` } } });
      const error = await failureOf(callOnce(models, "anthropic/claude-sonnet-5-5", { isStreamed }));
      assert.deepEqual([error.code, error.isPassing], ["model_refused", false]);
    }
    assert.deepEqual(elsewhere, []);
  } finally {
    other.close();
  }
});
