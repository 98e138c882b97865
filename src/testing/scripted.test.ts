/** Models and tools of a rehearsal, called as the runtime calls them. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Type } from "typebox";
import type { McpError } from "../mcp-client/mcp.ts";
import { type ModelCall, ModelError } from "../models/model.ts";
import { defineAgent } from "../runtime/agents/agent.ts";
import type { JsonObject } from "../store/port.ts";
import { defineTool } from "../tools/define.ts";
import { rehearse, type StandInContext, scripted } from "./index.ts";
import { mcpOf, toolsOf } from "./stand-ins.ts";

const signal = new AbortController().signal;

function ask(prompt: string, more: Partial<ModelCall> = {}): ModelCall {
  return { messages: [{ role: "user", content: prompt }], ...more };
}

describe("scripted models", () => {
  test("TST-11 returns each listed answer once, in order, and records the calls", async () => {
    // Given a list, when models are called, then each answer is given once, in order, and the calls are remembered.
    const models = scripted([
      "a text",
      { toolCalls: [{ name: "look", input: { at: "sky" } }] },
      ({ prompt, model }) => `${model} heard ${prompt}`,
    ]);
    const model = models.open("acme/large");
    assert.deepEqual([model.provider, model.model], ["acme", "large"]);
    const first = await model.call(ask("one"), { signal });
    assert.deepEqual([first.text, first.finishReason, first.toolCalls], ["a text", "stop", []]);
    assert.deepEqual(first.message, { role: "assistant", content: "a text" });
    assert.ok(first.usage.inputTokens > 0 && first.usage.isEstimated);
    const second = await model.call(ask("two"), { signal });
    assert.deepEqual(second.toolCalls, [{ id: "call_1", name: "look", input: { at: "sky" } }]);
    assert.equal(second.finishReason, "tool-calls");
    assert.deepEqual(second.message.content, [
      { type: "tool-call", toolCallId: "call_1", toolName: "look", input: { at: "sky" } },
    ]);
    assert.equal((await model.call(ask("three"), { signal })).text, "acme/large heard three");
    assert.deepEqual(
      models.calls.map(({ prompt }) => prompt),
      ["one", "two", "three"],
    );
    models.restart();
    assert.equal((await model.call(ask("again"), { signal })).text, "a text");
    assert.equal(models.calls.length, 1);
  });

  test("TST-11 calls repeated after a crash get their answers again, and others the next", async () => {
    // Given calls under way when the process dies, when they are made again, then they get the answers that they had,
    // and others the next.
    const models = scripted(["one", "two", "three"]);
    const model = models.open("x/y");
    const text = async (prompt: string) => (await model.call(ask(prompt), { signal })).text;
    assert.deepEqual(await Promise.all([text("a"), text("b")]), ["one", "two"]);
    models.resume(1);
    assert.deepEqual([await text("b"), await text("b")], ["two", "three"]);
    models.restart();
    assert.equal(await text("a"), "one");
    models.resume(1);
    assert.equal(await text("a"), "two");
  });

  test("TST-11 a replay in another order gives each call its answer, a new one the first left", async () => {
    // Given calls that were made before, when the script is played again in another order, then each gets what it had,
    // and a new one the first that is left.
    const models = scripted(["one", "two", "three"]);
    const model = models.open("x/y");
    const text = async (prompt: string) => (await model.call(ask(prompt), { signal })).text;
    for (const prompt of ["a", "b", "b"]) await text(prompt);
    models.rewind();
    assert.deepEqual([await text("b"), await text("c"), await text("b")], ["two", "one", "three"]);
    await assert.rejects(text("d"), /has 3 answers/);
  });

  test("TST-11 returns scripted objects, deltas and usage as a provider does", async () => {
    // Given objects, pieces and a usage, when they are scripted, then they come as from a provider.
    const usage = { inputTokens: 7, outputTokens: 3 };
    const output = { type: "object" };
    const model = scripted([{ object: { n: 1 }, usage }, '{"n":2}', "no JSON", { deltas: ["a", "b"] }]).open(
      "x/y",
    );
    const given = await model.call(ask("", { output }), { signal });
    assert.deepEqual([given.object, given.text, given.usage], [{ n: 1 }, '{"n":1}', usage]);
    assert.deepEqual((await model.call(ask("", { output }), { signal })).object, { n: 2 });
    assert.equal((await model.call(ask("", { output }), { signal })).object, null);
    const heard: string[] = [];
    const streamed = await model.call(ask(""), { signal, onDelta: ({ text }) => heard.push(text) });
    assert.deepEqual([heard, streamed.text], [["a", "b"], "ab"]);
  });

  test("TST-11 throws scripted model errors as they are and others as a provider failure", async () => {
    // Given errors, when they are scripted, then they are thrown: those of models as they are, others as a provider that
    // fails.
    const limited = new ModelError("model_rate_limited", "slow down", { isPassing: true, retryAfterMs: 50 });
    const model = scripted([limited, new Error("gone")]).open("x/y");
    await assert.rejects(model.call(ask(""), { signal }), limited);
    await assert.rejects(
      model.call(ask(""), { signal }),
      (error: ModelError) =>
        error.code === "model_unavailable" && error.message === "gone" && !error.isPassing,
    );
  });

  test("TST-11 a call past the end of the script fails with what was asked", async () => {
    // Given a script that has come to its end, when a model is called, then the failure says what was asked.
    const models = scripted(["only"]);
    const model = models.open("x/y");
    await model.call(ask("one"), { signal });
    await assert.rejects(
      model.call(ask("two"), { signal }),
      /script of the models has 1 answer, and x\/y was asked once more: "two"/,
    );
    assert.equal(models.unanswered?.prompt, "two");
  });

  test("TST-11 an aborted call throws its reason and uses up no answer", async () => {
    // Given a call that is aborted, when it is made, then its reason is thrown and no answer is used up.
    const models = scripted(["kept"]);
    const reason = new Error("canceled");
    await assert.rejects(models.open("x/y").call(ask(""), { signal: AbortSignal.abort(reason) }), reason);
    assert.equal(models.calls.length, 0);
  });
});

describe("stand-ins for tools", () => {
  const standIns = {
    "github.search": ({ query }: { query?: unknown }) => [`found ${query}`],
    "github.merge": {
      run: () => {
        throw new Error("not mergeable");
      },
      effect: "reversible" as const,
      description: "Merges.",
      input: Type.Object({ id: Type.Number() }),
    },
    "desk.book": async (_: object, { elicit }: StandInContext) => {
      const answer = await elicit?.({ message: "Window?", schema: { type: "object" } });
      return answer?.action ?? null;
    },
    add: ({ a, b }: JsonObject) => Number(a) + Number(b),
  };
  const options = {
    signal,
    idempotencyKey: "key",
    onElicitation: async () => ({ action: "decline" }) as const,
  };

  test("TST-12 functions by server and tool answer, fail and ask as MCP tools", async () => {
    // Given functions by server and tool, when they are called as tools of MCP servers, then they answer, fail and ask.
    const mcp = mcpOf(standIns);
    assert.deepEqual(mcp.servers, ["github", "desk"]);
    const [search, merge] = await mcp.tools("github", signal);
    assert.deepEqual(
      [search?.name, search?.effect, search?.input],
      ["search", "irreversible", { type: "object" }],
    );
    assert.deepEqual(
      [merge?.description, merge?.effect, merge?.input.required],
      ["Merges.", "reversible", ["id"]],
    );
    assert.deepEqual(await mcp.call("github", "search", { query: "x" }, options), { output: ["found x"] });
    assert.deepEqual(await mcp.call("desk", "book", {}, options), { output: "decline" });
    await assert.rejects(
      mcp.call("github", "merge", {}, options),
      (error: McpError) => error.code === "mcp_tool_failed" && error.message === "not mergeable",
    );
    for (const [server, tool] of [
      ["github", "close"],
      ["gitlab", "search"],
    ] as const) {
      await assert.rejects(
        mcp.call(server, tool, {}, options),
        (error: McpError) => error.code === "mcp_unknown" && error.message.includes(`${server}.${tool}`),
      );
    }
  });

  test("TST-12 a function without a server is one of the agent's own tools", async () => {
    // Given a function without a server, when tools are asked for, then it is one of the agent's own.
    const add = toolsOf(standIns).find(({ name }) => name === "add");
    assert.equal(add?.effect, "irreversible");
    assert.ok(!mcpOf(standIns).servers.includes("add"));
  });

  test("TST-12 functions replace the agent's own tools with dotted names, and nothing real runs", async () => {
    // Given tools of the agent's own with a dot in their names, when functions stand in for them, then those are called,
    // and nothing real is.
    const never = () => assert.fail("the real one was called");
    const input = Type.Object({});
    const terms = { description: "Real.", input, output: Type.String(), effect: "none", run: never } as const;
    const refund = defineTool({ ...terms, name: "shop.refund" });
    const unlisted = defineTool({ ...terms, name: "shop.cancel" });
    const clerk = defineAgent({
      name: "clerk",
      version: "1.0.0",
      tools: [refund],
      async run(ctx) {
        const own = [await ctx.tool(refund, {}), await ctx.tool("shop.refund", {})];
        const page = await ctx.tool("http.get", { url: "https://shop.example" });
        return [...own, await ctx.tool(unlisted, {}), JSON.stringify(page)].join(" ");
      },
    });
    const tools = {
      "shop.refund": () => "refunded",
      "shop.cancel": () => "canceled",
      "http.get": () => ({ status: 204, content_type: null, text: null, bytes: 0, truncated: false }),
    };
    const run = await rehearse(clerk, { input: {}, tools, persona: { tools: ["shop.*", "http.get"] } });
    assert.match(String(run.output), /^refunded refunded canceled .*204/);
    run.expectSteps(["tool:shop.refund:1", "tool:shop.refund:2", "tool:http.get:1", "tool:shop.cancel:1"]);
  });

  test("TST-12 a replaced tool keeps its own effect and schemas", async () => {
    // Given a tool that a function stands in for, when it is called, then its effect and its schemas are its own.
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: Type.Object({ at: Type.String() }),
      output: Type.Number(),
      effect: "none",
      run: () => 1,
    });
    const looker = defineAgent({
      name: "looker",
      version: "1.0.0",
      run: (ctx) => ctx.tool(look, { at: "the sky" }),
    });
    const persona = { autonomy_tier: "shadow" } as const;
    const seen = await rehearse(looker, { input: {}, persona, tools: { look: () => 7 } });
    assert.equal(seen.output, 7, "what only looks is called in every tier");
    const wrong = await rehearse(looker, { input: {}, persona, tools: { look: () => "stars" } });
    assert.equal(wrong.failure?.code, "tool_output_invalid");
  });
});
