/**
 * A server whose agent `branches` plays a program: a tree of things to do one after the other, all at once, or in a race.
 * What it gives back is everything it was given, in the order in which it was given it, so that two runs which
 * are not in step end differently.
 */

import { parseArgs } from "node:util";
import { type AgentContext, defineAgent, startServer } from "bridle";
import { pino } from "pino";
import type { JsonObject, JsonValue } from "../../src/store/port.ts";
import type { Leaf, Program } from "./branches.ts";
import { sayReady } from "./ready.ts";

/** Code between two calls may await what is there already, as often as it likes. */
async function idle(microtasks: number): Promise<void> {
  for (let n = 0; n < microtasks; n++) await null;
}

/** Work of the world: it takes as long as it takes, another time each time. */
async function work({ size }: Leaf): Promise<JsonValue> {
  const turns = Math.floor(Math.random() * 4);
  for (let n = 0; n < turns; n++) await new Promise((resolve) => setImmediate(resolve));
  if (Math.random() < 0.2) await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
  return `${Math.random()}`.padEnd(size, "x");
}

const plays: Record<Leaf["do"], (ctx: AgentContext, leaf: Leaf) => Promise<JsonValue>> = {
  step: (ctx, leaf) => ctx.step(leaf.name, () => work(leaf)),
  llm: (ctx, leaf) => ctx.step(leaf.name, () => work(leaf), { kind: "llm" }),
  async effect(ctx, leaf) {
    const { outcome, output, artifactId } = await ctx.effect(leaf.name, () => work(leaf));
    return { outcome, output, artifactId };
  },
  async spend(ctx) {
    await ctx.spend({ outputTokens: 1 });
    return "spent";
  },
  async say(ctx, { name, size }) {
    await ctx.say(name.padEnd(size, "x"));
    return "said";
  },
  now: async (ctx) => (await ctx.now()).toISOString(),
  random: (ctx) => ctx.random(),
  artifact: (ctx, { name, size }) => ctx.artifact({ name, text: "x".repeat(size) }),
  async stream(ctx, { name }) {
    const artifact = await ctx.streamArtifact({ name });
    await artifact.write("one ");
    await artifact.write("two");
    await artifact.close();
    return artifact.id;
  },
  async spawn(ctx, { name, microtasks }) {
    const child = await ctx.spawn({ input: { program: { do: "random", name, microtasks: 0, size: 0 } } });
    await idle(microtasks);
    return { ...(await child.result()) };
  },
  /** A child that nobody waits for. */
  async launch(ctx, { name }) {
    return (await ctx.spawn({ input: { program: { do: "random", name, microtasks: 0, size: 0 } } })).taskId;
  },
  async sleep(ctx) {
    await ctx.sleep(1);
    return "slept";
  },
  ask: (ctx, { name }) => ctx.ask(`${name}?`),
};

async function play(ctx: AgentContext, program: Program, seen: JsonValue[]): Promise<void> {
  switch (program.do) {
    case "seq":
      for (const part of program.of) await play(ctx, part, seen);
      return;
    case "all":
      await Promise.all(program.of.map((part) => play(ctx, part, seen)));
      return;
    case "race":
      await Promise.race(program.of.map((part) => play(ctx, part, seen)));
      return;
    default: {
      await idle(program.microtasks);
      const given = await plays[program.do](ctx, program).catch((error: Error) => error.message);
      seen.push([program.name, given]);
      await idle(program.microtasks);
    }
  }
}

const branches = defineAgent({
  name: "branches",
  version: "1.0.0",
  async run(ctx) {
    const seen: JsonValue[] = [];
    await play(ctx, programOf(ctx.input), seen);
    return [...seen];
  },
});

/** The tests make these, and nobody else. */
function programOf({ program }: JsonObject): Program {
  return JSON.parse(JSON.stringify(program));
}

const { values } = parseArgs({ options: { port: { type: "string" }, data: { type: "string" } } });
const { url } = await startServer({
  port: Number(values.port),
  dataDirectory: String(values.data),
  concurrency: 256,
  apiKey: process.env.BRIDLE_API_KEY ?? null,
  agents: [branches],
  logger: pino({ level: process.env.BRIDLE_LOG_LEVEL ?? "warn" }, pino.destination(2)),
});
sayReady({ url });
