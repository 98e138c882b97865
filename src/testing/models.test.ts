/** Rehearsals of agents that use models and tools. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import { type Agent, type AgentContext, defineAgent } from "../runtime/agents/agent.ts";
import type { JsonValue } from "../store/port.ts";
import { ModelError, RehearsalError, rehearse, type StandIns, scripted } from "./index.ts";

function agentOf(run: (ctx: AgentContext) => Promise<JsonValue | undefined>): Agent {
  return defineAgent({ name: "agent", version: "1.0.0", run });
}

const planner = agentOf(async (ctx) => {
  const tools = ["github.search", "weather"];
  const plan = await ctx.model.generate({ label: "plan", prompt: `Plan ${ctx.text}`, tools });
  const { object } = await ctx.model.generate({
    label: "rate",
    prompt: plan.text,
    output: Type.Object({ stars: Type.Integer() }),
  });
  return { plan: plan.text, stars: object.stars };
});

const script = {
  input: "a trip",
  models: [
    {
      toolCalls: [
        { name: "github_search", input: { query: "hills" } },
        { name: "weather", input: { place: "here" } },
      ],
    },
    "Walk up the hill.",
    { object: { stars: 4 } },
  ],
  tools: {
    "github.search": ({ query }: { query?: JsonValue }) => [`found ${query}`],
    weather: { effect: "none" as const, run: () => "sunny" },
  },
};

test("TST-11, TST-12 plays and reports a model's tool loop, also with crashes everywhere", async () => {
  // Given a model that asks for tools, when it is rehearsed, also with a crash after every record, then the loop is
  // played and told.
  const run = await rehearse(planner, { ...script, crashEverywhere: true });
  assert.deepEqual(run.output, { plan: "Walk up the hill.", stars: 4 });
  run.expectSteps(["...", "llm:plan:1", "...", "llm:plan:2", "llm:rate:1"]);
  assert.deepEqual(run.step("mcp:github:search:1").output, ["found hills"]);
  assert.deepEqual(run.step("tool:weather:1").input, { place: "here" });
  assert.deepEqual(
    run.models.map(({ prompt }) => prompt.slice(0, 20)),
    ["Plan a trip", run.models[1]?.prompt.slice(0, 20), "Walk up the hill."],
  );
  assert.match(run.models[1]?.prompt ?? "", /found hills.*sunny/);
});

test("TST-11 parallel model calls keep their answers after a crash at every record", async () => {
  // Given models that are asked side by side, when the process dies after every record, then each call keeps its answer.
  const agent = agentOf(async (ctx) => {
    const ask = (label: string) => ctx.model.generate({ label, prompt: label });
    const answers = await Promise.all([ask("a"), ask("b"), ask("c")]);
    return [...answers.map(({ text }) => text), (await ask("d")).text];
  });
  const run = await rehearse(agent, { input: "", models: ["1", "2", "3", "4"], crashEverywhere: true });
  assert.deepEqual(run.output, ["1", "2", "3", "4"]);
});

test("TST-11 retries of a busy model cost no real time", async () => {
  // Given a model that is busy at first, when it is tried again, then no time is lost with it.
  const busy = new ModelError("model_rate_limited", "slow down", { isPassing: true, retryAfterMs: 60_000 });
  const agent = agentOf(async (ctx) => (await ctx.model.generate({ prompt: "hello" })).text);
  const startedAt = performance.now();
  const run = await rehearse(agent, { input: "", models: [busy, busy, "at last"] });
  assert.equal(run.output, "at last");
  assert.match(run.endedAt.toISOString(), /^2026-01-01T00:02:0/);
  assert.ok(performance.now() - startedAt < 5000);
});

test("TST-8, TST-11 a script that is too short fails with the step, prompt and journal", async () => {
  // Given a script that is too short, when a model is asked once more, then the rehearsal fails with the step, the
  // prompt and the journal.
  const agent = agentOf(async (ctx) => {
    await ctx.model.generate({ label: "first", prompt: "one" });
    // Not even an agent that takes care of failures makes up for a script that does not fit.
    return await ctx.model.generate({ label: "second", prompt: "two" }).then(
      ({ text }) => text,
      () => "whatever",
    );
  });
  const models = scripted(["only"]);
  await assert.rejects(rehearse(agent, { input: "", models }), (error: Error) => {
    assert.ok(error instanceof RehearsalError);
    assert.match(error.message, /no answer for llm:second:1: "two"\.\nCOMPLETED "whatever"\n {2}llm:first:1/);
    return true;
  });
  assert.equal(models.calls.length, 2);
});

test("TST-12 an MCP tool that asks the person gets an answer, also across a crash", async () => {
  // Given a tool of an MCP server that asks the person, when it is called, then the person is asked, also when the
  // process dies then.
  const agent = agentOf((ctx) => ctx.tool("desk.book", { room: 1 }));
  const tools: StandIns = {
    "desk.book": {
      effect: "reversible",
      async run(_, { elicit }) {
        const answer = await elicit?.({ message: "Window?", schema: { type: "object" } });
        return answer?.action === "accept" ? answer.content : "no answer";
      },
    },
  };
  const people = { answers: { Window: { yes: true } } };
  const run = await rehearse(agent, { input: "", tools, people, crashEverywhere: true });
  assert.deepEqual(run.output, { yes: true });
  assert.equal(run.asked[0]?.question, "Window?");
});
