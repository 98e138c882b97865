/**
 * Agents that do what their input tells them, so that a test of replays can write down a run as data, and a server of them:
 *
 *   scripted  plays `input.ops` and gives back everything it has seen, or what the op `return` says; in the version 0.9.0,
 *             which no new task gets, it asks a model once more
 *   fickle    is another one each time: what it says, makes, asks or returns is left to chance
 *
 *   AGENT_NOTES   a file to which they append a line for whatever they really do
 *   AGENT_GATE    the beginning of the names of files for whose appearance they wait where a test wants them to
 *   AGENT_SECRET  what the real vault gives
 */

import { appendFileSync, existsSync } from "node:fs";
import { dirname } from "node:path";
import { type Agent, type AgentContext, AgentFailure, defineAgent, Type } from "bridle";
import type { JsonObject, JsonValue } from "../../src/store/port.ts";
import { serve } from "./serve.ts";

const pollMs = 5;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** One thing to do. `do` says what, `as` under which name the result is kept, `catch` that a failure is a result. */
type Op = JsonObject;
type Seen = JsonObject;
type Play = (ctx: AgentContext, op: Op, seen: Seen) => Promise<JsonValue | undefined>;

class Returned extends Error {
  readonly value: JsonValue;
  constructor(value: JsonValue) {
    super("returned");
    this.value = value;
  }
}

const text = (value: JsonValue | undefined) => (typeof value === "string" ? value : JSON.stringify(value));
const list = (value: JsonValue | undefined) => (Array.isArray(value) ? value : []);
const object = (value: JsonValue | undefined): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
const ops = (value: JsonValue | undefined): Op[] => list(value).map(object);

const deadline = (ms: JsonValue | undefined) => (typeof ms === "number" ? { expiresInMs: ms } : {});

/** `{name}` in a text stands for what was seen under that name. */
function filled(template: JsonValue | undefined, seen: Seen): string {
  return text(template ?? "").replace(/\{(\w+)\}/g, (_, name) => text(seen[name] ?? null));
}

export function replayedAgents(variables: Record<string, string | undefined>): Agent[] {
  const { AGENT_NOTES = "", AGENT_GATE = "", AGENT_SECRET = "" } = variables;

  function note(line: string): void {
    appendFileSync(AGENT_NOTES, `${line}\n`);
  }

  async function gate(name: string): Promise<void> {
    while (!existsSync(AGENT_GATE + name)) {
      // The test is over.
      if (!existsSync(dirname(AGENT_GATE))) throw new Error("The gate is gone.");
      await pause(pollMs);
    }
  }

  /** The code of a step: it says that it really runs. */
  async function call(op: Op, kind: string): Promise<JsonValue> {
    note(`${kind}:${op.name}`);
    if (typeof op.gate === "string") await gate(op.gate);
    if (typeof op.ms === "number") await pause(op.ms);
    if (typeof op.code === "string") throw new AgentFailure(op.code, `${op.name} went wrong.`);
    if (op.code === null) throw new Error(`${op.name} broke.`);
    if (kind === "secret") return AGENT_SECRET;
    if (typeof op.size === "number") return `${Math.random()} `.padEnd(op.size, "x");
    return op.gives ?? { nonce: Math.random() };
  }

  const stepKinds = ["llm", "mcp", "host", "secret", "step"] as const;

  const plays: Record<string, Play> = {
    ...Object.fromEntries(
      stepKinds.map((kind): [string, Play] => [
        kind,
        (ctx, op) => ctx.step(text(op.name), () => call(op, kind), { kind }),
      ]),
    ),
    /** Many steps, one after the other. */
    async many(ctx, { name, times }) {
      let last = 0;
      for (let n = 0; n < Number(times); n++) last = await ctx.step(text(name), () => n + Math.random());
      return last;
    },
    async now(ctx, { label }) {
      return (await (label === undefined ? ctx.now() : ctx.now(text(label)))).toISOString();
    },
    random: (ctx, { label }) => (label === undefined ? ctx.random() : ctx.random(text(label))),
    uuid: (ctx) => ctx.uuid(),
    ask: (ctx, { question, schema, expiresInMs }) =>
      schema === undefined
        ? ctx.ask(text(question))
        : (ctx.ask(text(question), Type.Unsafe(object(schema)), deadline(expiresInMs)) as Promise<JsonValue>),
    async approve(ctx, { action, expiresInMs }) {
      await ctx.approve({ action: text(action), payload: { of: "it" }, ...deadline(expiresInMs) });
      return "approved";
    },
    async sleep(ctx, { ms }) {
      await ctx.sleep(Number(ms));
      return undefined;
    },
    async spawn(ctx, { persona, input }) {
      const child = await ctx.spawn({ personaId: text(persona ?? "persona_scripted"), input: object(input) });
      return { ...(await child.result()) };
    },
    artifact: (ctx, { name, content }, seen) =>
      ctx.artifact(
        typeof content === "string"
          ? { name: text(name), text: filled(content, seen) }
          : { name: text(name), json: content ?? null },
      ),
    bytes: (ctx, { name, content }) =>
      ctx.artifact({ name: text(name), bytes: Buffer.from(text(content), "hex") }),
    async stream(ctx, { name, chunks }, seen) {
      const artifact = await ctx.streamArtifact({ name: text(name) });
      for (const chunk of list(chunks)) await artifact.write(filled(chunk, seen));
      await artifact.close();
      return artifact.id;
    },
    async say(ctx, op, seen) {
      await ctx.say(filled(op.text, seen));
      return undefined;
    },
    async progress(ctx, { message, percent }) {
      await ctx.progress(text(message), Number(percent));
      return undefined;
    },
    async checkpoint(ctx, { name }) {
      await ctx.checkpoint(text(name));
      return undefined;
    },
    async whoami(ctx) {
      return { task: ctx.taskId, session: ctx.sessionId, workspace: ctx.workspaceId };
    },
    async all(ctx, { branches }, seen) {
      await Promise.all(list(branches).map((branch) => play(ctx, ops(branch), seen)));
      return undefined;
    },
    /** Which branch was the first. */
    race: (ctx, { branches }, seen) =>
      Promise.race(
        list(branches).map(async (branch, index) => {
          await play(ctx, ops(branch), seen);
          return index;
        }),
      ),
    /** Goes on with `yes` if that was seen, with `no` otherwise. */
    async when(ctx, { of, is, ...op }, seen) {
      await play(ctx, ops(text(seen[text(of)]) === text(is) ? op.yes : op.no), seen);
      return undefined;
    },
    async fail(_, { code, message }, seen) {
      throw new AgentFailure(text(code), filled(message, seen));
    },
    async return(_, { value }, seen) {
      throw new Returned(filled(value, seen));
    },
  };

  async function play(ctx: AgentContext, script: Op[], seen: Seen): Promise<void> {
    for (const op of script) {
      const perform = plays[text(op.do)];
      if (perform === undefined) throw new AgentFailure("unknown_op", `There is no ${text(op.do)}.`);
      const result = await perform(ctx, op, seen).catch((error: unknown) => {
        if (op.catch !== true || error instanceof Returned) throw error;
        return error instanceof AgentFailure ? `${error.code}: ${error.message}` : String(error);
      });
      if (typeof op.as === "string") seen[op.as] = result ?? null;
    }
  }

  const scripted = defineAgent({
    name: "scripted",
    version: "1.0.0",
    async run(ctx) {
      const seen: Seen = {};
      try {
        await play(ctx, ops(ctx.input.ops), seen);
      } catch (error) {
        if (error instanceof Returned) return error.value;
        throw error;
      }
      return seen;
    },
  });

  const scriptedBefore = defineAgent({
    ...scripted,
    version: "0.9.0",
    async run(ctx) {
      const seen = (await scripted.run(ctx)) ?? null;
      return { seen, more: await ctx.step("more", () => call({ name: "more" }, "llm"), { kind: "llm" }) };
    },
  });

  const fickle = defineAgent({
    name: "fickle",
    version: "1.0.0",
    async run(ctx) {
      const whim = `whim ${Math.random()}`;
      switch (ctx.input.about) {
        case "saying":
          await ctx.say(whim);
          return "said";
        case "making":
          await ctx.artifact({ name: "a.txt", text: whim });
          return "made";
        case "stepping":
          await ctx.step(whim, () => 1);
          return "stepped";
        case "failing":
          throw new AgentFailure("whim", whim);
        default:
          return whim;
      }
    },
  });

  return [scripted, scriptedBefore, fickle];
}

if (import.meta.main) await serve({ agents: replayedAgents(process.env) });
