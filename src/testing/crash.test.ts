/** Rehearsals in which the process dies. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Agent, type AgentContext, defineAgent } from "../runtime/agents/agent.ts";
import type { JsonValue } from "../store/port.ts";
import { RehearsalError, rehearse } from "./index.ts";

function agentOf(run: (ctx: AgentContext) => Promise<JsonValue | undefined>): Agent {
  return defineAgent({ name: "agent", version: "1.0.0", run });
}

const day = 24 * 60 * 60 * 1000;

test("TST-6 after a crash, recorded steps are not repeated and the rest runs", async () => {
  // Given a crash after a step, when the run goes on, then what was recorded is not done again and the rest is.
  const done: string[] = [];
  let runs = 0;
  const agent = agentOf(async (ctx) => {
    runs += 1;
    for (const name of ["a", "b", "c"]) await ctx.step(name, () => void done.push(name));
    return "all";
  });
  const run = await rehearse(agent, { input: "", crashAfter: "step:b:1" });
  assert.equal(run.output, "all");
  assert.deepEqual(done, ["a", "b", "c"]);
  assert.equal(runs, 2);
});

test("TST-6 a crash amid parallel branches stops the steps in progress and restarts them", async () => {
  // Given branches side by side, when the process dies in the middle, then what was under way is stopped and begun
  // again.
  const begun: string[] = [];
  const stopped: string[] = [];
  const agent = agentOf(async (ctx) => {
    const slow = ctx.step("slow", async ({ signal }) => {
      begun.push("slow");
      signal.addEventListener("abort", () => stopped.push("slow"));
      await new Promise((resolve) => setTimeout(resolve, 30));
      return "slow";
    });
    return [await ctx.step("fast", () => "fast"), await slow];
  });
  const run = await rehearse(agent, { input: "", crashAfter: "step:fast:1" });
  assert.deepEqual(run.output, ["fast", "slow"]);
  assert.deepEqual([begun, stopped], [["slow", "slow"], ["slow"]]);
});

test("TST-6, TST-8 a crash set after a step that never comes fails with the journal", async () => {
  // Given a crash after a step that never comes, when it is rehearsed, then that is said with the journal.
  const agent = agentOf(async (ctx) => await ctx.step("only", () => 1));
  await assert.rejects(
    rehearse(agent, { input: "", crashAfter: "step:other:1" }),
    (error: Error) =>
      error instanceof RehearsalError &&
      /step:other:1, after which it was to crash, was never recorded\.\nCOMPLETED 1\n {2}step:only:1 {2}→ 1/.test(
        error.message,
      ),
  );
});

test("TST-7 a deterministic agent reaches the same end after a crash at every record", async () => {
  // Given an agent that keeps to the rules, when it dies after every record, then it always comes to the same end.
  let runs = 0;
  const agent = agentOf(async (ctx) => {
    runs += 1;
    const [a, b] = await Promise.all([
      ctx.step("a", () => 1),
      ctx.sleep(day).then(() => ctx.step("b", () => 2)),
    ]);
    await ctx.say(`${a} and ${b}`);
    const name = await ctx.ask("Name?");
    await ctx.approve({ action: `greet ${name}` });
    const artifact = await ctx.artifact({ name: "greeting", text: `hello ${name}` });
    const { output } = await ctx.effect("mail", () => "sent");
    return { artifact, output, id: await ctx.uuid(), at: (await ctx.now()).toISOString() };
  });
  const people = { answers: ["you"], approvals: [true] };
  const run = await rehearse(agent, { input: "", people, crashEverywhere: true });
  assert.equal(run.status, "COMPLETED");
  assert.ok(runs > 2 * run.journal.length, `${runs} runs`);
});

/** How often the code of a task has run: what no code should know. */
function countRuns(): (ctx: AgentContext) => number {
  const runs = new Map<string, number>();
  return ({ taskId }) => {
    runs.set(taskId, (runs.get(taskId) ?? 0) + 1);
    return runs.get(taskId) ?? 0;
  };
}

test("TST-7, TST-8 shows the first difference of nondeterministic code with both journals", async () => {
  // Given code that does something else each time, when it dies after every record, then the first difference is shown
  // with both journals.
  const count = countRuns();
  const agent = agentOf(async (ctx) => {
    await ctx.step(`attempt-${count(ctx)}`, () => 1);
    await ctx.step("second", () => 2);
    return "done";
  });
  assert.equal((await rehearse(agent, { input: "" })).status, "COMPLETED");
  await assert.rejects(rehearse(agent, { input: "", crashEverywhere: true }), (error: Error) => {
    assert.ok(error instanceof RehearsalError);
    assert.match(error.message, /not come to the same end when the process dies after step:attempt-1:1/);
    assert.match(
      error.message,
      /Without it:\nCOMPLETED "done"\n {2}step:attempt-1:1 {2}→ 1\n {2}step:second:1/,
    );
    assert.match(error.message, /With it:\nFAILED nondeterministic_run: .*has the step step:attempt-1:1/);
    return true;
  });
});

test("TST-7 detects a different result from state kept outside of steps", async () => {
  // Given code that remembers something outside of its steps, when it dies after its last one, then the other result is
  // found.
  const count = countRuns();
  const agent = agentOf(async (ctx) => {
    const runs = count(ctx);
    await ctx.step("only", () => 1);
    return runs;
  });
  await assert.rejects(
    rehearse(agent, { input: "", crashEverywhere: true }),
    /dies after step:only:1\. Without it:\nCOMPLETED 1\n.*\nWith it:\nCOMPLETED 2\n/,
  );
});

test("TST-7 detects code that chooses a different step after a crash", async () => {
  // Given code that chooses another step each time, when it dies before it, then the other step is found.
  const count = countRuns();
  const agent = agentOf(async (ctx) => {
    const runs = count(ctx);
    await ctx.step("first", () => 1);
    await ctx.step(runs === 1 ? "left" : "right", () => 2);
    return "done";
  });
  await assert.rejects(rehearse(agent, { input: "", crashEverywhere: true }), /dies after step:first:1/);
});

test("TST-7 given both ways to crash, when they are asked for at once, then that is refused", async () => {
  const agent = agentOf(async () => undefined);
  await assert.rejects(rehearse(agent, { input: "", crashAfter: "x", crashEverywhere: true }), TypeError);
});
