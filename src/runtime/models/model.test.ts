/** `ctx.model`: what is asked, recorded, repeated and told, with models that answer from a script. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import { ModelError, rehearse, scripted } from "../../testing/index.ts";
import { defineTool } from "../../tools/define.ts";
import { type AgentContext, defineAgent } from "../agents/agent.ts";

function agentThat(run: (ctx: AgentContext) => Promise<string>) {
  return defineAgent({ name: "asker", version: "1.0.0", run });
}

const asksOnce = agentThat(
  async (ctx) => (await ctx.model.generate({ label: "plan", prompt: "Plan it." })).text,
);

test("LLM-1 a model call is the step llm:<label>:<n> and returns its answer to the agent", async () => {
  // Given a prompt, when the model is asked, then the call is the step llm:<label>:<n> and its answer is the agent's.
  const run = await rehearse(asksOnce, { input: "go", models: ["First, think."] });
  assert.equal(run.output, "First, think.");
  run.expectSteps(["llm:plan:1"]);
  assert.deepEqual(run.models[0]?.messages, [{ role: "user", content: "Plan it." }]);
});

test("LLM-2 a run that crashes at any point never repeats a recorded model call", async () => {
  // Given a run that dies at any moment, when it goes on, then no answer that was recorded is asked for again.
  const twice = agentThat(async (ctx) => {
    const one = await ctx.model.generate({ label: "a", system: "Be brief.", prompt: "one" });
    const two = await ctx.model.stream({
      label: "b",
      messages: [...one.messages, { role: "user", content: "two" }],
    });
    return `${one.text} ${two.text}`;
  });
  const run = await rehearse(twice, {
    input: "go",
    models: ["uno", { deltas: ["d", "os"] }],
    crashEverywhere: true,
  });
  assert.equal(run.output, "uno dos");
  assert.equal(run.models.length, 2);
});

test("LLM-3 retries a model that is briefly down, and the receipt says which model answered", async () => {
  // Given a model that is down for a moment, when it is asked, then it is asked again, and the receipt says which one
  // answered.
  const passing = new ModelError("model_unavailable", "It is down.", { isPassing: true });
  const run = await rehearse(asksOnce, { input: "go", models: [passing, passing, "There."] });
  assert.equal(run.output, "There.");
  assert.equal(run.models.length, 3);
  assert.equal(run.receipt?.model_route.chosen_model.model, "model");
  assert.equal(run.receipt?.model_route.route_policy_reason, "it is the server's default");
});

test("LLM-4 falls back to the next model if the first fails, and the receipt says why", async () => {
  // Given alternatives, when the first cannot answer, then the next is asked, and the receipt says why.
  const picky = agentThat(
    async (ctx) => (await ctx.model.generate({ model: ["big/one", "small/two"], prompt: "Hello" })).model,
  );
  const models = scripted((call) =>
    call.model === "big/one" ? new ModelError("model_unauthorized", "The key is wrong.") : "Hi",
  );
  const run = await rehearse(picky, { input: "go", models });
  assert.equal(run.output, "small/two");
  const route = run.receipt?.model_route;
  assert.equal(route?.chosen_model.provider, "small");
  assert.match(route?.route_policy_reason ?? "", /alternative.*big\/one.*model_unauthorized/);
  assert.deepEqual(route?.alternatives_considered[0], {
    provider: "big",
    model: "one",
    reason: "model_unauthorized: The key is wrong.",
  });
});

test("LLM-5 if no model answers, the agent gets the last reason and the log every attempt", async () => {
  // Given that no model answers, when the agent asks, then it hears the last reason and the log says what was tried.
  const wrong = new ModelError("model_refused", "Too long.");
  const run = await rehearse(asksOnce, { input: "go", models: [wrong] });
  assert.equal(run.status, "FAILED");
  assert.equal(run.failure?.code, "model_refused");
  assert.equal(run.receipt?.model_route.alternatives_considered.length, 1);
});

test("LLM-6 rejects a model that the persona does not allow, citing the persona's rule", async () => {
  // Given a persona that allows other models only, when the agent asks for one, then it is refused by the persona's
  // rule.
  const run = await rehearse(asksOnce, {
    input: "go",
    models: ["never"],
    persona: { model_policy: { allowed_models: ["acme/*"] } },
  });
  assert.equal(run.failure?.code, "policy_violation");
  assert.equal(run.models.length, 0);
});

test("LLM-7 uses the persona's model and temperature if the agent names none", async () => {
  // Given a persona with a model and a temperature, when the agent names none, then those are used.
  const run = await rehearse(asksOnce, {
    input: "go",
    models: ["fine"],
    persona: { model_policy: { model: "acme/large", temperature: 0.3, max_tokens: 50 } },
  });
  assert.equal(run.models[0]?.model, "acme/large");
  assert.equal(run.models[0]?.temperature, 0.3);
  assert.equal(run.models[0]?.maxOutputTokens, 50);
});

const add = defineTool({
  name: "math.add",
  description: "Adds two numbers.",
  input: Type.Object({ a: Type.Number(), b: Type.Number() }),
  output: Type.Number(),
  effect: "none",
  run: ({ a, b }) => a + b,
});

test("LLM-8 runs the tools a model requests as steps and returns their results to it", async () => {
  // Given tools, when the model asks for them, then they are called as steps and it hears what they gave.
  const counter = agentThat(
    async (ctx) => (await ctx.model.generate({ prompt: "2+3 and 4+5?", tools: [add] })).text,
  );
  const calls = [
    { id: "one", name: "math_add", input: { a: 2, b: 3 } },
    { id: "two", name: "math_add", input: { a: 4, b: 5 } },
  ];
  const run = await rehearse(counter, {
    input: "go",
    models: [{ toolCalls: calls }, "5 and 9"],
    crashEverywhere: true,
  });
  assert.equal(run.output, "5 and 9");
  run.expectSteps(["llm:model:1", "tool:math.add:1", "tool:math.add:2", "llm:model:2"]);
  const results = run.models[1]?.messages.at(-1);
  assert.equal(results?.role, "tool");
  assert.deepEqual(results?.role === "tool" && results.content.map(({ output }) => output), [
    { type: "json", value: 5 },
    { type: "json", value: 9 },
  ]);
});

test("LLM-9 a model that makes invalid tool calls is told what is wrong and can go on", async () => {
  // Given a model that asks for nonsense, when its tools are called, then it hears what is wrong and can go on.
  const counter = agentThat(async (ctx) => (await ctx.model.generate({ prompt: "?", tools: [add] })).text);
  const calls = [
    { name: "math_add", input: { a: "two", b: 3 } },
    { name: "no_such_tool", input: {} },
  ];
  const run = await rehearse(counter, { input: "go", models: [{ toolCalls: calls }, "I see."] });
  assert.equal(run.output, "I see.");
  const heard = JSON.stringify(run.models[1]?.messages.at(-1));
  assert.match(heard, /tool_input_invalid/);
  assert.match(heard, /There is no tool/);
});

test("LLM-10 a model that uses up its tool calls is asked once more without tools", async () => {
  // Given a model that never stops asking for tools, when its calls are used up, then it is asked once more without
  // them.
  const counter = agentThat(
    async (ctx) => (await ctx.model.generate({ prompt: "?", tools: [add], maxSteps: 3 })).text,
  );
  const models = scripted((call) =>
    call.tools === undefined ? "enough" : { toolCalls: [{ name: "math_add", input: { a: 1, b: 1 } }] },
  );
  const run = await rehearse(counter, { input: "go", models });
  assert.equal(run.output, "enough");
  assert.equal(run.models.length, 3);
});

const Verdict = Type.Object({ ok: Type.Boolean(), why: Type.String() });

test("LLM-11 an answer that breaks the schema is sent back until the model returns a valid one", async () => {
  // Given a schema, when the answer does not fit it, then the model is told and the agent is given what fits.
  const judge = agentThat(async (ctx) => {
    const { object } = await ctx.model.generate({ prompt: "Judge.", output: Verdict });
    return `${object.ok}: ${object.why}`;
  });
  const run = await rehearse(judge, {
    input: "go",
    models: [{ object: { ok: "yes" } }, { object: { ok: true, why: "it works" } }],
  });
  assert.equal(run.output, "true: it works");
  assert.match(run.models[1]?.prompt ?? "", /does not fit the schema/);
});

test("LLM-12 fails with model_output_invalid after two corrections without a valid answer", async () => {
  // Given a schema that no answer fits, when the model was told twice, then the agent hears model_output_invalid.
  const judge = agentThat(async (ctx) =>
    String((await ctx.model.generate({ prompt: "Judge.", output: Verdict })).object.ok),
  );
  const run = await rehearse(judge, { input: "go", models: () => ({ object: { ok: 1 } }) });
  assert.equal(run.failure?.code, "model_output_invalid");
  assert.equal(run.models.length, 3);
});

test("LLM-13 given prices, when models are asked, then the receipt says what each cost", async () => {
  const models = scripted([{ text: "x", usage: { inputTokens: 1000, outputTokens: 500 } }], {
    price: { input: 2, output: 10 },
  });
  const run = await rehearse(asksOnce, { input: "go", models });
  assert.deepEqual(run.receipt?.cost, {
    currency: "USD",
    total: 0.007,
    provider_breakdown: [
      { provider: "scripted", model: "model", amount: 0.007, input_tokens: 1000, output_tokens: 500 },
    ],
  });
  assert.equal(run.receipt?.autonomy_budget.consumed.output_tokens, 500);
});

test("LLM-14 code that makes another model call after a crash fails as not repeatable", async () => {
  // Given code that asks something else when it is repeated, when the run goes on after a crash, then it fails as not
  // repeatable.
  let lives = 0;
  const fickle = agentThat(async (ctx) => {
    lives += 1;
    const { text } = await ctx.model.generate({ label: "plan", prompt: `Plan number ${lives}.` });
    return await ctx.step("use", () => text);
  });
  const run = await rehearse(fickle, { input: "go", models: ["a", "b"], crashAfter: "llm:plan:1" });
  assert.equal(run.failure?.code, "nondeterministic_run");
  assert.match(run.failure?.message ?? "", /llm:plan:1 with the input sha256:/);
});

test("LLM-15 redacts a secret in a prompt from both the log and the model's input", async () => {
  // Given a secret in a prompt, when the model is asked, then it is in neither the log nor what the model hears.
  const leaky = agentThat(async (ctx) => {
    const key = await ctx.secret("api_key");
    return (await ctx.model.generate({ prompt: `The key is ${key}.` })).text;
  });
  const run = await rehearse(leaky, {
    input: "go",
    models: ["ok"],
    secrets: { api_key: "s3cr3t-value-9000" },
  });
  assert.doesNotMatch(JSON.stringify([run.journal, run.models]), /s3cr3t-value-9000/);
});

test("LLM-16 without any model the error says what to set", async () => {
  // Given no model at all, when the agent asks for one, then the failure says what to set.
  const models = { ...scripted([]), defaultModel: null };
  const run = await rehearse(asksOnce, { input: "go", models });
  assert.equal(run.failure?.code, "model_not_configured");
  assert.match(run.failure?.message ?? "", /BRIDLE_MODEL/);
});

test("LLM-17 tools changed by a restart keep recorded answers and apply to the next call", async () => {
  // Given tools that are described otherwise after a restart, when the run goes on, then its answers hold and the next
  // call has the new ones.
  let lives = 0;
  const upgraded = agentThat(async (ctx) => {
    lives += 1;
    const tools = [defineTool({ ...add, description: `Adds, as of version ${lives}.` })];
    const first = await ctx.model.generate({ label: "a", prompt: "one", tools });
    return (await ctx.model.generate({ label: "b", prompt: first.text, tools })).text;
  });
  const run = await rehearse(upgraded, { input: "go", models: ["two", "three"], crashAfter: "llm:a:1" });
  assert.equal(run.output, "three");
  assert.deepEqual(
    run.models.map(({ tools }) => tools?.[0]?.description),
    ["Adds, as of version 1.", "Adds, as of version 2."],
  );
});
