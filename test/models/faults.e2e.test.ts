/** Models that fail: what is tried again, what is asked instead, and what a task fails with when nothing helps. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { until } from "../support/client.ts";
import { ModelWorld } from "../support/model-runs.ts";
import type { Reply } from "../support/model-server.ts";
import { receiptOf } from "../support/policy.ts";

let world: ModelWorld;
before(async () => {
  world = await ModelWorld.start({ MODEL_IDLE_MS: "1500" });
});
after(() => world[Symbol.asyncDispose]());

const chunks = ["The begin", "ning of an answer."];

const passing: Record<string, Reply> = {
  "a rate limit with a time to wait": { fault: { status: 429, headers: { "retry-after": "1" } } },
  "an error of the provider": { fault: { status: 500 } },
  "a stream that is cut": { chunks, fault: "cut" },
  "a stream with something that is no JSON": { chunks, fault: "malformed" },
  "a connection that is reset": { chunks, fault: "reset" },
  "an overload in mid-stream": { chunks, fault: "overloaded" },
  "tokens that come too slowly": { chunks, chunkDelayMs: 30_000 },
  "a stream that hangs": { chunks, fault: "hang" },
};

describe("what may pass", { concurrency: 8 }, () => {
  for (const [what, fault] of Object.entries(passing)) {
    test(`MTE-8, RCP-16 after ${what} the model is asked again and the agent gets its whole answer`, async () => {
      // Given ${what}, when the model is asked, then it is asked again and its whole answer is the agent's.
      world.script(what, fault, { text: "All is well.", usage: { input: 3, output: 4 } });
      const task = await world.play([{ do: "stream", prompt: what }]);
      assert.equal(await world.output(task), "All is well.");
      assert.equal(world.requests(what).length, 2);
      const [span] = await world.spans(task);
      assert.equal(span.model_call.attempts, 2);
      assert.deepEqual(span.model_call.chosen, {
        provider: "local",
        model: "anything",
        served_by: "anything",
      });
      const { model_route, side_effects } = await receiptOf(world.client, task);
      const [egress] = side_effects.network_egress;
      assert.deepEqual([egress.metadata.step, egress.metadata.requests], [span.step, 2]);
      assert.equal(model_route.chosen_model.model, "anything");
      assert.deepEqual(model_route.alternatives_considered, []);
      if (what.startsWith("a rate limit")) {
        const took = Date.parse(task.completed_at) - Date.parse(task.started_at);
        assert.ok(took >= 1000, `it was left alone for a second, not ${took} ms`);
      }
    });
  }

  test("WHY-1 a task waiting for a rate-limited model names model, failure and retry time", async () => {
    // Given a model that asks to be left alone, when it is asked why the task waits, then it is which model failed with
    // what, and when it is asked again.
    world.script("why not", { fault: { status: 429, headers: { "retry-after": "300" } } });
    const task = await world.begin([{ do: "generate", prompt: "why not" }]);
    const { body: told } = await until(
      () => world.client.get(`/v1/tasks/${task.id}/why`),
      ({ body }) => body.waits_for === "retry",
    );
    assert.match(
      told.sentence,
      /asks the model \S+ again at .* UTC: attempt 1 failed with model_rate_limited: /,
    );
    assert.ok(Date.parse(told.until) > Date.now() + 200_000);
    await world.client.post(`/v1/tasks/${task.id}/cancel`);
  });

  test("MTE-9 a model that always fails ends the task with its code; the receipt lists attempts", async () => {
    // Given a model that fails whenever it is asked, when all attempts are used up, then the task fails with the code,
    // and the receipt says what was tried.
    world.script("never works", { fault: { status: 500 } });
    const task = await world.play([{ do: "generate", prompt: "never works" }]);
    assert.equal(task.status, "FAILED");
    assert.equal(task.failure.code, "model_unavailable");
    assert.equal(world.requests("never works").length, 4);
    const [span] = await world.spans(task, "span.failed");
    assert.equal(span.model_call.chosen, null);
    assert.equal(span.model_call.attempts, 4);
    const { model_route } = await receiptOf(world.client, task);
    assert.equal(model_route.chosen_model.provider, "none");
    assert.match(model_route.route_policy_reason, /no model answered.*model_unavailable/);
    assert.match(model_route.alternatives_considered[0].reason, /model_unavailable after 4 attempts/);
  });

  test("MTE-9 a request refused by the provider fails the task without a retry", async () => {
    // Given a request that the provider refuses, when the model is asked, then it is asked once and the task fails with
    // the code.
    world.script("too rude", { fault: { status: 400 } });
    const task = await world.play([{ do: "generate", prompt: "too rude" }]);
    assert.equal(task.failure.code, "model_refused");
    assert.equal(world.requests("too rude").length, 1);
  });
});

describe("alternatives", () => {
  const down: Reply = { fault: { status: 503 } };

  test("MTE-10 another provider answers for one that is down and the receipt says why", async () => {
    // Given a provider that is down, when there is another to ask, then that one answers, and the receipt says why it
    // did.
    world.script("plan b", down, down, down, down, { text: "From the other one." });
    const model = ["anthropic/claude-sonnet-5-5", "openai/gpt-6-sol"];
    const task = await world.play([{ do: "stream", prompt: "plan b", model }]);
    assert.equal(await world.output(task), "From the other one.");
    const paths = world.requests("plan b").map(({ path }) => path);
    assert.deepEqual(paths, [...Array(4).fill("/v1/messages"), "/v1/responses"]);
    const { model_route } = await receiptOf(world.client, task);
    assert.equal(model_route.chosen_model.provider, "openai");
    assert.equal(model_route.chosen_model.model, "gpt-6-sol");
    assert.match(model_route.route_policy_reason, /alternative.*anthropic\/.*model_unavailable/);
    assert.match(model_route.alternatives_considered[0].reason, /after 4 attempts/);
    assert.equal((await world.spans(task))[0].model_call.attempts, 5);
  });

  test("MTE-10 another provider answers at once while the first demands a long wait", async () => {
    // Given a provider that asks to be left alone for long, when there is another to ask, then nobody waits for the
    // first.
    const busy: Reply = { fault: { status: 429, headers: { "retry-after": "300" } } };
    world.script("plan c", busy, { fault: { status: 401 } }, { text: "At once." });
    const model = ["google/gemini-3.8-flash", "anthropic/claude-sonnet-5-5", "openai/gpt-6-sol"];
    const task = await world.play([{ do: "generate", prompt: "plan c", model }]);
    assert.equal(await world.output(task), "At once.");
    assert.equal(world.requests("plan c").length, 3);
    const { model_route } = await receiptOf(world.client, task);
    assert.match(
      model_route.route_policy_reason,
      /google\/.*model_rate_limited.*anthropic\/.*model_unauthorized/,
    );
    assert.equal(model_route.alternatives_considered.length, 2);
  });
});
