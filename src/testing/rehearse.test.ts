/** Agents are rehearsed as their authors would rehearse them. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Type } from "typebox";
import { unseal } from "../kernel/core/content.ts";
import { textOf } from "../kernel/kinds/message.ts";
import { listMessages } from "../kernel/sessions/list-messages.ts";
import { type Agent, type AgentContext, defineAgent } from "../runtime/agents/agent.ts";
import { AgentFailure } from "../runtime/run/failures.ts";
import type { JsonValue } from "../store/port.ts";
import { type Hosts, nobody, RehearsalError, rehearse, scripted } from "./index.ts";
import { RehearsedFiles } from "./rehearsed-files.ts";
import { setUp } from "./set-up.ts";
import { Stage } from "./stage.ts";
import { mcpOf } from "./stand-ins.ts";

const hour = 60 * 60 * 1000;
const day = 24 * hour;

function agentOf(run: (ctx: AgentContext) => Promise<JsonValue | undefined>, name = "agent"): Agent {
  return defineAgent({ name, version: "1.0.0", run });
}

const releaser = agentOf(async (ctx) => {
  const changes = await ctx.step("collect", () => ["a", "b"]);
  await ctx.say(`${changes.length} changes since ${ctx.input.since}.`);
  const { name } = await ctx.ask("What is this release called?", Type.Object({ name: Type.String() }));
  await ctx.approve({ action: `publish ${name}`, payload: { changes }, risk: "high" });
  await ctx.artifact({ name: "notes.md", text: `# ${name}` });
  return await ctx.step("publish", () => ({ published: name }));
});

const input = { since: "v1" };
const people = { answers: [{ name: "v2" }], approvals: [true] };

describe("a rehearsal", () => {
  test("TST-1 a rehearsal reports the agent's end, messages, journal and receipt", async () => {
    // Given an agent and everything it needs, when it is rehearsed, then its end, its words, its journal and its receipt
    // are told.
    const run = await rehearse(releaser, { input, people });
    assert.equal(run.status, "COMPLETED");
    assert.deepEqual(run.output, { published: "v2" });
    assert.equal(run.failure, null);
    assert.equal(run.waitingFor, null);
    assert.deepEqual(run.said, ["2 changes since v1."]);
    assert.deepEqual(
      run.artifacts.map(({ name, text }) => [name, text]),
      [["notes.md", "# v2"]],
    );
    run.expectSteps(["step:collect:1", "say:1", "ask:1", "approve:1", "artifact:1", "step:publish:1"]);
    assert.deepEqual(run.step("step:collect:1"), {
      key: "step:collect:1",
      kind: "step",
      name: "collect",
      output: ["a", "b"],
    });
    assert.deepEqual(run.asked[0]?.answer, { name: "v2" });
    assert.deepEqual(run.approvals, [
      {
        step: "approve:1",
        action: "publish v2",
        payload: { changes: ["a", "b"] },
        risk: "high",
        approved: true,
      },
    ]);
    assert.equal(run.receipt?.subject.object, "task");
  });

  test("TST-1 passes texts, payloads and parts to the agent as a server does", async () => {
    // Given texts, payloads and parts, when they are the input, then the agent gets them as from a server.
    const agent = agentOf(async (ctx) => [ctx.text, ctx.input, ctx.parts.length]);
    const parts = [{ type: "text", text: "hello", visibility: "public" } as const];
    assert.deepEqual((await rehearse(agent, { input: "hello" })).output, ["hello", { text: "hello" }, 0]);
    assert.deepEqual((await rehearse(agent, { input: { n: 1 } })).output, ["", { n: 1 }, 0]);
    assert.deepEqual((await rehearse(agent, { input: parts })).output, ["hello", {}, 1]);
  });

  test("TST-1 an agent that throws fails its task, with the step's error in the journal", async () => {
    // Given an agent that throws, when it is rehearsed, then the failure is the task's, and the step's error is in the
    // journal.
    const agent = agentOf(async (ctx) => {
      await ctx.step("first", () => "done");
      await ctx.step("second", () => {
        throw new AgentFailure("no_luck", "It did not work.");
      });
    });
    const run = await rehearse(agent, { input: "" });
    assert.equal(run.status, "FAILED");
    assert.deepEqual(run.failure, { code: "no_luck", message: "It did not work." });
    assert.deepEqual(run.step("step:second:1").error, { code: "no_luck", message: "It did not work." });
    assert.equal(run.output, null);
  });
});

describe("people of a rehearsal", () => {
  const twoQuestions = agentOf(async (ctx) => {
    const region = await ctx.ask("Which region?");
    const size = await ctx.ask("How large?", Type.Number());
    return { region, size };
  });

  test("TST-2 given answers by text and by function, when questions come, then each gets its own", async () => {
    const byText = await rehearse(twoQuestions, {
      input: "",
      people: { answers: { large: 3, region: "eu" } },
    });
    assert.deepEqual(byText.output, { region: "eu", size: 3 });
    const byFunction = await rehearse(twoQuestions, {
      input: "",
      people: { answers: ({ schema }) => (schema === null ? "us" : 4) },
    });
    assert.deepEqual(byFunction.output, { region: "us", size: 4 });
  });

  test("TST-2 a question without an answer ends the rehearsal, which says what it awaits", async () => {
    // Given a question that nobody answers, when the agent waits, then the rehearsal ends and says for what.
    const run = await rehearse(twoQuestions, { input: "", people: { answers: ["eu"] } });
    assert.equal(run.status, "INPUT_REQUIRED");
    assert.deepEqual(run.waitingFor, {
      kind: "answer",
      what: "How large?",
      step: "ask:2",
      until: "2026-01-08T00:00:00.000Z",
    });
    assert.deepEqual(
      run.asked.map(({ answer }) => answer),
      ["eu", undefined],
    );
    assert.equal(run.receipt, null);
  });

  test("TST-2 given a decision with a reason, when an approval is denied, then the agent hears it", async () => {
    const agent = agentOf(async (ctx) => {
      await ctx.approve({ action: "delete everything" });
    });
    const approvals = { everything: { approved: false, reason: "too much" } };
    const denied = await rehearse(agent, { input: "", people: { approvals } });
    assert.equal(denied.failure?.code, "approval_denied");
    assert.match(denied.failure?.message ?? "", /too much/);
    const open = await rehearse(agent, { input: "" });
    assert.deepEqual([open.status, open.waitingFor?.kind], ["AUTH_REQUIRED", "approval"]);
  });

  test("TST-2, TST-8 an answer that does not fit fails with the problem and the journal", async () => {
    // Given an answer that does not fit, when it is given, then the rehearsal fails, with what is wrong and the journal.
    const answers = ["eu", "very large"];
    await assert.rejects(rehearse(twoQuestions, { input: "", people: { answers } }), (error: Error) => {
      assert.ok(error instanceof RehearsalError);
      assert.match(error.message, /answer "very large" to "How large\?" is not taken: .*number/);
      assert.match(error.message, /ask:1 +Which region\? → "eu"/);
      return true;
    });
  });
});

describe("time in a rehearsal", () => {
  test("TST-3 sleeps advance the clock by their length without real waiting", async () => {
    // Given sleeps of 30 days and of a moment, when they are rehearsed, then it is that much later, at once.
    const agent = agentOf(async (ctx) => {
      const before = await ctx.now();
      await ctx.sleep(30 * day);
      await ctx.sleep(500);
      return (await ctx.now()).getTime() - before.getTime();
    });
    const startedAt = performance.now();
    const run = await rehearse(agent, { input: "", now: "2030-06-01T12:00:00Z" });
    assert.equal(run.output, 30 * day + 500);
    assert.equal(run.endedAt.toISOString(), "2030-07-01T12:00:00.500Z");
    assert.ok(performance.now() - startedAt < 5000);
  });

  test("TST-3 a question that nobody is to answer expires at its deadline", async () => {
    // Given a question that is to be answered by nobody, when its time is over, then it expires.
    const agent = agentOf(async (ctx) => {
      try {
        return await ctx.ask("Are you there?", Type.String(), { expiresInMs: 2 * day });
      } catch (error) {
        return error instanceof AgentFailure ? `${error.code} ${(await ctx.now()).toISOString()}` : "?";
      }
    });
    const run = await rehearse(agent, { input: "", people: { answers: [nobody] } });
    assert.equal(run.output, "deadline_exceeded 2026-01-03T00:00:00.000Z");
  });

  test("TST-3 with an open question, time advances to the timer, not to the question's expiry", async () => {
    // Given a question beside a timer, when nobody is there to answer, then time goes on to the timer and not to the end
    // of the question.
    const agent = agentOf(async (ctx) => {
      const answer = ctx.ask("Now?");
      return await Promise.race([answer, ctx.sleep(hour).then(() => "too late")]);
    });
    const run = await rehearse(agent, { input: "" });
    assert.equal(run.output, "too late");
    assert.equal(run.endedAt.toISOString(), "2026-01-01T01:00:00.000Z");
  });

  test("TST-3 time does not advance past a sleep while a slow step is running", async () => {
    // Given a slow step beside a sleep, when they race, then time waits for what is going on.
    const slow = () => new Promise<string>((resolve) => setTimeout(resolve, 30, "step"));
    const agent = agentOf(async (ctx) =>
      Promise.race([ctx.step("slow", slow), ctx.sleep(day).then(() => "sleep")]),
    );
    assert.equal((await rehearse(agent, { input: "" })).output, "step");
  });

  test("TST-3 random values repeat between rehearsals and differ between steps", async () => {
    // Given chance, when the agent is rehearsed twice, then it gets the same, and each step its own.
    const agent = agentOf(async (ctx) => [
      await ctx.random(),
      await ctx.random(),
      await ctx.uuid(),
      await ctx.uuid(),
    ]);
    const [one, other] = [await rehearse(agent, { input: "" }), await rehearse(agent, { input: "" })];
    assert.deepEqual(one.output, other.output);
    assert.equal(new Set(one.output as string[]).size, 4);
  });
});

describe("the world of a rehearsal", () => {
  const mailer = agentOf(async (ctx) => {
    const { outcome, output } = await ctx.effect("mail.send", () => "sent", { payload: { to: "you" } });
    return { outcome, output };
  });

  test("TST-4 an effect runs, asks, is proposed or is simulated by the persona's autonomy", async () => {
    // Given personas of every autonomy, when an effect is rehearsed, then it is done, asked for, proposed or simulated.
    const outcomeFor = async (autonomy_tier: "shadow" | "suggest" | "act_with_approval" | "act_auto") => {
      const run = await rehearse(mailer, {
        input: "",
        persona: { autonomy_tier },
        people: { approvals: [true] },
      });
      return [run.output, run.approvals.length, run.artifacts.length];
    };
    assert.deepEqual(await outcomeFor("act_auto"), [{ outcome: "done", output: "sent" }, 0, 0]);
    assert.deepEqual(await outcomeFor("act_with_approval"), [{ outcome: "done", output: "sent" }, 1, 0]);
    assert.deepEqual(await outcomeFor("suggest"), [{ outcome: "proposed", output: null }, 0, 1]);
    assert.deepEqual(await outcomeFor("shadow"), [{ outcome: "simulated", output: null }, 0, 0]);
  });

  test("TST-4 rejects an effect that the persona's tools do not list", async () => {
    // Given a persona whose list of tools is another, when an effect is rehearsed, then it is refused.
    const run = await rehearse(mailer, { input: "", persona: { tools: ["calendar.*"] } });
    assert.equal(run.status, "FAILED");
    assert.equal(run.failure?.code, "policy_violation");
  });

  test("TST-5 the agent reads its secrets and memories, and the report has no secret", async () => {
    // Given secrets and memories, when the agent reads them, then it gets them, and no secret is in what is told.
    const agent = agentOf(async (ctx) => {
      const token = await ctx.secret("token");
      const known = await ctx.memory.read("favourite");
      await ctx.memory.write("favourite", "green");
      const [found] = await ctx.memory.search("green");
      return { known: known ?? null, found: found?.content ?? null, token: `it is ${token}` };
    });
    const run = await rehearse(agent, {
      input: "",
      secrets: { token: "correct-horse-battery" },
      memory: { favourite: "blue" },
    });
    assert.deepEqual(run.output, { known: "blue", found: "green", token: "it is [redacted:secret]" });
    assert.ok(!JSON.stringify(run).includes("correct-horse"));
  });

  test("TST-5 the agent's files survive tools and crashes, and the report has the final ones", async () => {
    // Given files, when the agent reads, lists and writes them, also through its tools and across crashes, then they are
    // there, and those in the end are told.
    const keeper = agentOf(async (ctx) => {
      const entries = await ctx.files.list("in");
      const text = await ctx.files.read("in/a.txt");
      await ctx.tool("files.write", { path: "out/a.txt", text: text.toUpperCase() });
      await ctx.files.write("in/a.txt", "done");
      const absent = await ctx.files.read("in/c.txt").catch(({ code }) => code);
      const astray = await ctx.files.write("in/a.txt/b", "").catch(({ code }) => code);
      return {
        entries: entries.map((entry) => ({ ...entry })),
        absent,
        astray,
        root: (await ctx.files.list()).map(({ name }) => name),
      };
    });
    const run = await rehearse(keeper, {
      input: {},
      files: { "in/a.txt": "näh", "in/deep/b.txt": "" },
      persona: { tools: ["files.*"] },
      crashEverywhere: true,
    });
    assert.deepEqual(run.output, {
      entries: [
        { name: "a.txt", kind: "file", size: 4 },
        { name: "deep", kind: "directory", size: 0 },
      ],
      absent: "resource_not_found",
      astray: "invalid_request",
      root: ["in", "out"],
    });
    assert.deepEqual(run.files, { "in/a.txt": "done", "in/deep/b.txt": "", "out/a.txt": "NÄH" });
    assert.equal(run.receipt?.side_effects.fs_writes.length, 2);
  });

  test("TST-5 rehearsed hosts answer, fail, stay silent or are waited for", async () => {
    // Given hosts, when the agent calls them, then they answer, fail, stay away, or are waited for.
    const agent = agentOf(async (ctx) => {
      const read = await ctx.host("clipboard.read", null, { readOnly: true });
      const failed = await ctx.host("camera.take").catch((error: AgentFailure) => error.message);
      const away = await ctx
        .host("door.open", null, { expiresInMs: hour })
        .catch((error: AgentFailure) => error.code);
      return { read, failed, away, last: await ctx.host("lamp.on") };
    });
    const hosts: Hosts = {
      "clipboard.read": () => "copied",
      "camera.take": () => {
        throw new Error("no light");
      },
      "door.open": () => nobody,
    };
    const waiting = await rehearse(agent, { input: "", hosts });
    assert.deepEqual([waiting.waitingFor?.kind, waiting.waitingFor?.what], ["host", "lamp.on"]);
    const run = await rehearse(agent, { input: "", hosts: { ...hosts, "lamp.on": (given) => given } });
    assert.deepEqual(run.output, {
      read: "copied",
      failed: "no light",
      away: "deadline_exceeded",
      last: null,
    });
  });

  test("TST-5 other agents do spawned and handed-off work, with questions of their own", async () => {
    // Given other agents, when work is spawned and handed to them, then they do it, with their own questions.
    const child = agentOf(async (ctx) => `${ctx.text}: ${await ctx.ask("Which colour?")}`, "painter");
    const agent = agentOf(async (ctx) => {
      const spawned = await ctx.spawn({ personaId: "persona_painter", input: "door" });
      const first = (await spawned.result()).output;
      return [first, (await ctx.handoff({ agent: "painter", input: "wall" })).output];
    });
    const options = { input: "", agents: [child] };
    const run = await rehearse(agent, { ...options, people: { answers: ["red", "blue"] } });
    assert.deepEqual(run.output, ["door: red", "wall: blue"]);
    const waiting = await rehearse(agent, options);
    assert.deepEqual([waiting.status, waiting.waitingFor?.what], ["WORKING", "Which colour?"]);
  });

  test("TST-5 a prepared conversation is in the session, in order", async () => {
    // Given what was said before, when the stage is set, then it is in the session, in order.
    const stage = new Stage({
      agents: [mailer],
      world: { models: scripted([]), mcp: mcpOf({}), tools: [] },
      files: new RehearsedFiles({}),
      now: 0,
      killAfter: null,
    });
    const life = await stage.begin();
    const sessionId = await setUp(life.kernel, stage.system, mailer.name, {
      input: "",
      conversation: [
        { role: "user", text: "hello" },
        { role: "agent", parts: [{ type: "text", text: "good day", visibility: "public" }] },
      ],
    });
    const { data } = await listMessages(life.kernel, stage.system, { sessionId });
    const texts = await Promise.all(
      data.map(({ parts }) => unseal(parts, life.kernel.store.of(stage.system.tenantId))),
    );
    await life.end();
    assert.deepEqual(
      data.map(({ role }, n) => [role, textOf(texts[n] ?? [])]),
      [
        ["user", "hello"],
        ["agent", "good day"],
      ],
    );
  });
});
