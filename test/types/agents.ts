/**
 * What the compiler says to those who write agents. Nothing here runs: `npm run check` compiles it, and a wrong use that compiles
 * is an error of its own.
 */

import { type Agent, type AgentContext, defineAgent, Type } from "../../src/index.ts";
import type { JsonObject } from "../../src/store/port.ts";
import { assertSame } from "./same.ts";

const Build = Type.Object({ build: Type.String(), dryRun: Type.Optional(Type.Boolean()) });
type Build = { build: string; dryRun?: boolean };
const base = { name: "deployer", version: "1.0.0" };
const skill = { id: "deploy", description: "Ship a build", input: Build };

// The input has the type of the agent's own schema,
defineAgent({
  ...base,
  input: Build,
  async run(ctx) {
    assertSame<typeof ctx.input, Build>(true);
    // @ts-expect-error: the schema has no such property
    ctx.input.built;
    // @ts-expect-error: it is a text
    const build: number = ctx.input.build;
    // @ts-expect-error: it may be absent
    const dryRun: boolean = ctx.input.dryRun;
    // @ts-expect-error: what an agent is given is not its to change
    ctx.input = { build: "2" };
    return { build, dryRun };
  },
});

// of the only skill's,
defineAgent({
  ...base,
  skills: [{ id: "deploy", description: "Ship a build", input: Build }],
  async run(ctx) {
    assertSame<typeof ctx.input, Build>(true);
    // @ts-expect-error: the skill's schema has no such property
    return ctx.input.built;
  },
});

// of the agent's rather than the skill's,
defineAgent({
  ...base,
  input: Build,
  skills: [{ id: "other", description: "Other", input: Type.Object({ other: Type.Number() }) }],
  async run(ctx) {
    assertSame<typeof ctx.input, Build>(true);
  },
});

// of one of several shapes,
defineAgent({
  ...base,
  input: Type.Union([Build, Type.Object({ rollback: Type.Literal(true) })]),
  async run(ctx) {
    // @ts-expect-error: first it must be clear which of them it is
    ctx.input.build;
    return "build" in ctx.input ? ctx.input.build : ctx.input.rollback;
  },
});

// and is any JSON object when nobody said what it is, or several skills say several things.
defineAgent({
  ...base,
  async run(ctx) {
    assertSame<typeof ctx.input, JsonObject>(true);
    return ctx.input.anything ?? null;
  },
});
defineAgent({
  ...base,
  skills: [skill, { id: "look", description: "Look" }],
  async run(ctx) {
    assertSame<typeof ctx.input, JsonObject>(true);
  },
});
defineAgent({
  ...base,
  skills: [{ id: "look", description: "Look" }],
  async run(ctx) {
    assertSame<typeof ctx.input, JsonObject>(true);
  },
});

// Agents that are made elsewhere can be lists, and checked again.
const agents: Agent[] = [defineAgent({ ...base, input: Build, run: async (ctx) => ctx.input.build })];
for (const agent of agents) defineAgent(agent);

// @ts-expect-error: the input of a task is always an object
defineAgent({ ...base, input: Type.String(), run: async () => "" });
// @ts-expect-error: an agent needs a version
defineAgent({ name: "deployer", run: async () => "" });
// @ts-expect-error: an agent needs a name
defineAgent({ version: "1.0.0", run: async () => "" });
// @ts-expect-error: an agent does something
defineAgent(base);
// @ts-expect-error: there is no such property
defineAgent({ ...base, skill: [], run: async () => "" });
// @ts-expect-error: a skill says what it does
defineAgent({ ...base, skills: [{ id: "deploy" }], run: async () => "" });
// @ts-expect-error: there is no such property of a card
defineAgent({ ...base, card: { publik: true }, run: async () => "" });
// @ts-expect-error: an agent is asynchronous
defineAgent({ ...base, run: () => "done" });

class Result {
  value = 1;
  double() {
    return this.value * 2;
  }
}

// The result is JSON, or nothing.
defineAgent({ ...base, run: async () => ({ a: [1, "2", null, { b: true }] }) });
defineAgent({ ...base, run: async () => undefined });
defineAgent({ ...base, async run() {} });
// @ts-expect-error: a date is no JSON
defineAgent({ ...base, run: async () => new Date() });
// @ts-expect-error: nor is one inside of something
defineAgent({ ...base, run: async () => ({ at: new Date() }) });
// @ts-expect-error: nor is a function
defineAgent({ ...base, run: async () => () => 1 });
// @ts-expect-error: nor is an object with methods
defineAgent({ ...base, run: async () => new Result() });
// @ts-expect-error: nor is a map
defineAgent({ ...base, run: async () => new Map([["a", 1]]) });
// @ts-expect-error: nor is a large integer
defineAgent({ ...base, run: async () => 1n });

export async function steps(ctx: AgentContext): Promise<void> {
  const count: number = await ctx.step("count", () => 1);
  const list: { name: string; tags: string[] }[] = await ctx.step("list", async () => [
    { name: "a", tags: [] },
  ]);
  await ctx.step("nothing", () => {});
  await ctx.step("fetch", async ({ signal, idempotencyKey }) => {
    const response = await fetch("https://a.example", {
      signal,
      headers: { "Idempotency-Key": idempotencyKey },
    });
    return response.status;
  });
  await ctx.say(`${count} ${list.length}`);
  // @ts-expect-error: what a step gives is written down, and a date comes back as text
  await ctx.step("date", () => new Date());
  // @ts-expect-error: so do dates inside of something
  await ctx.step("dates", async () => [{ at: new Date() }]);
  // @ts-expect-error: functions do not come back at all
  await ctx.step("function", () => () => 1);
  // @ts-expect-error: nor do methods
  await ctx.step("instance", () => new Result());
  // @ts-expect-error: nor do sets
  await ctx.step("set", () => new Set([1]));
  // @ts-expect-error: nor do bytes
  await ctx.step("bytes", () => new Uint8Array(1));
  // @ts-expect-error: a response is gone when the step is over
  await ctx.step("response", () => fetch("https://a.example"));
  // @ts-expect-error: a step has a name
  await ctx.step(() => 1);
  // @ts-expect-error: a step has a kind that is known
  await ctx.step("a", () => 1, { kind: "model" });
  // @ts-expect-error: an effect's result is written down as well
  await ctx.effect("mail", () => new Date());
  // @ts-expect-error: an effect gives something, if only null
  await ctx.effect("mail", () => {});
}

export async function people(ctx: AgentContext): Promise<void> {
  const text: string = await ctx.ask("Which region?");
  const answer = await ctx.ask("Which region?", Type.Object({ region: Type.String() }));
  assertSame<typeof answer, { region: string }>(true);
  await ctx.approve({ action: `deploy to ${answer.region}`, payload: { text }, risk: "high" });
  // @ts-expect-error: without a schema the answer is text
  const number: number = await ctx.ask("How many?");
  // @ts-expect-error: the schema has no such property
  answer.zone;
  // @ts-expect-error: it is said what is to be approved
  await ctx.approve({ payload: number });
  // @ts-expect-error: there is no such risk
  await ctx.approve({ action: "deploy", risk: "extreme" });
  // @ts-expect-error: what is shown to whoever approves is JSON
  await ctx.approve({ action: "deploy", payload: { at: new Date() } });
  // @ts-expect-error: an artifact has content
  await ctx.artifact({ name: "notes.md" });
  // @ts-expect-error: work is handed to somebody
  await ctx.handoff({ input: "please" });
  // @ts-expect-error: memories are JSON
  await ctx.memory.write("when", new Date());
}
