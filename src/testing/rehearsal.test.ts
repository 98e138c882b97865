/** What a rehearsal says of itself: assertions, fixtures, and that nothing of it stays behind. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Type } from "typebox";
import { temporaryDirectory } from "../../test/support/server.ts";
import { type Agent, type AgentContext, defineAgent } from "../runtime/agents/agent.ts";
import type { JsonValue } from "../store/port.ts";
import { defineTool } from "../tools/define.ts";
import { RehearsalError, rehearse, replayFixture } from "./index.ts";

function agentOf(run: (ctx: AgentContext) => Promise<JsonValue | undefined>): Agent {
  return defineAgent({ name: "agent", version: "1.0.0", run });
}

const walker = agentOf(async (ctx) => {
  await ctx.step("pack", () => "bag");
  for (const place of ["lake", "hill"]) await ctx.step(`see.${place}`, () => place);
  await ctx.say("I was away.");
});

test("TST-8 given patterns, when the steps fit them, then it is well", async () => {
  const run = await rehearse(walker, { input: "" });
  run.expectSteps(["step:pack:1", "step:see.lake:1", "step:see.hill:1", "say:1"]);
  run.expectSteps(["...", "step:see.hill:1", "..."]);
  run.expectSteps(["step:pack:1", /see/, "step:*:1", "say:*"]);
  run.expectSteps(["...", "step:pack:1", "...", "say:1", "..."]);
  run.expectSteps(["*", "s*p:*.l*e:*1", "...", "say:1"]);
});

test("TST-8 a failed step expectation shows the journal", async () => {
  // Given patterns that the steps do not fit, or a step that is not there, when it is expected, then the failure shows
  // the journal.
  const run = await rehearse(walker, { input: "" });
  const unfit: (string | RegExp)[][] = [
    [],
    ["step:pack:1"],
    ["...", "step:pack:1"],
    ["step:see.lake:1", "step:pack:1", "..."],
    ["step:pack", "..."],
    ["step:pa*ck:*ck:1", "..."],
    ["...", /hill/, /lake/, "..."],
  ];
  for (const patterns of unfit) {
    assert.throws(() => run.expectSteps(patterns), assert.AssertionError, JSON.stringify(patterns));
  }
  assert.throws(
    () => run.expectSteps(["step:pack:1", "say:1"]),
    /Expected:\n {2}step:pack:1\n {2}say:1\nFound:\nCOMPLETED null\n {2}step:pack:1 +→ "bag"\n.*\n.*\n {2}say:1 +I was away\./,
  );
  assert.throws(
    () => run.step("step:swim:1"),
    /There is no step step:swim:1\.\nCOMPLETED null\n {2}step:pack:1/,
  );
});

test("TST-8 a step that never ends makes the rehearsal time out with the journal so far", async () => {
  // Given a step that never ends, when the rehearsal has no more patience, then it fails with what was done so far.
  const agent = agentOf(async (ctx) => {
    await ctx.step("quick", () => 1);
    await ctx.step("stuck", () => new Promise<number>(() => {}));
  });
  await assert.rejects(
    rehearse(agent, { input: "", timeoutMs: 200 }),
    (error: Error) =>
      error instanceof RehearsalError &&
      /no end to it after 200 ms\.\n {2}step:quick:1 {2}→ 1/.test(error.message),
  );
});

test("TST-8 rejects invalid options before anything runs", async () => {
  // Given options that cannot be meant, when it is rehearsed, then that is said before anything runs.
  let runs = 0;
  const agent = agentOf(async () => {
    runs += 1;
    return undefined;
  });
  await assert.rejects(
    rehearse(agent, { input: "", now: "tomorrow" }),
    /now is "tomorrow", which is no time/,
  );
  await assert.rejects(
    rehearse(agent, { input: "", secrets: { "no name": "x" } }),
    /The rehearsal cannot begin: A secret's name/,
  );
  assert.equal(runs, 0);
});

test("TST-9 a saved rehearsal replays as a fixture and detects code that differs", async () => {
  // Given a rehearsal, when it is saved, then the fixture is replayed, and code that does something else is told from
  // it.
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "run.jsonl");
  let calls = 0;
  const agentWith = (name: string) =>
    agentOf(async (ctx) => {
      const found = await ctx.step(name, () => ++calls);
      return `${found} ${await ctx.ask("And?")} ${"x".repeat(10_000)}`;
    });
  const run = await rehearse(agentWith("look"), { input: "go", people: { answers: ["then"] } });
  await run.save(file);
  await replayFixture(agentWith("look"), file);
  assert.equal(calls, 1);
  await assert.rejects(
    replayFixture(agentWith("search"), file),
    /does not repeat .*step:look:1.*step:search:1/,
  );
});

test("TST-9 a replay repeats the conversation for the model and detects different words", async () => {
  // Given a model that was told what was said before, when the fixture is replayed, then it is told the same, and other
  // words are found.
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "run.jsonl");
  const agentWith = (more: string) =>
    agentOf(async (ctx) => {
      const messages = [...(await ctx.conversation()), { role: "user" as const, content: ctx.text + more }];
      return (await ctx.model.generate({ messages })).text;
    });
  const run = await rehearse(agentWith(""), {
    input: "And you?",
    conversation: [
      { role: "user", text: "I am Ada." },
      { role: "agent", text: "Hello, Ada." },
    ],
    models: ["Well."],
  });
  assert.equal(run.models[0]?.messages.length, 3);
  await run.save(file);
  await replayFixture(agentWith(""), file);
  await assert.rejects(replayFixture(agentWith("!"), file), /llm:model:1 with the input/);
});

test("TST-9 a replay finds tools offered by name in the log, among built-ins or in its options", async () => {
  // Given a rehearsal whose model was offered tools by name, when its fixture is replayed, then they are found: in the
  // log, among those that come along, or as they are given.
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "run.jsonl");
  const clock = defineTool({
    name: "clock",
    description: "Tells the time.",
    effect: "none",
    input: Type.Object({}),
    run: () => "noon",
  });
  const names = ["github.*", "files.read", "clock"];
  const agent = agentOf(async (ctx) => (await ctx.model.generate({ prompt: "go", tools: names })).text);
  const run = await rehearse(
    { ...agent, tools: [clock] },
    {
      input: "go",
      persona: { tools: names },
      tools: { "github.search": () => ["issue 7"] },
      models: [{ toolCalls: [{ name: "github_search", input: {} }] }, "Issue 7."],
    },
  );
  assert.equal(run.output, "Issue 7.");
  await run.save(file);
  await replayFixture(agent, file, { tools: [clock] });
  await assert.rejects(replayFixture(agent, file), /does not repeat/);
});

test("TST-10 a program with slow, waiting and unfinished rehearsals exits by itself", async () => {
  // Given a program that rehearses, with what is slow, waits and is left waiting, when it is done, then it ends by
  // itself.
  const program = fileURLToPath(new URL("../../test/support/rehearsing.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program], { timeout: 30_000 });
  assert.equal(stdout, "COMPLETED INPUT_REQUIRED\n[]\n");
});
