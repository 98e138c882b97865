/**
 * The configuration of a server whose models are played by one `ModelServer`, with an MCP server and tools that can be held.
 *
 *   MODEL_URL      where the models are; the `local` ones are named by BRIDLE_LOCAL_MODEL_URL
 *   MODEL_IDLE_MS  how long a stream may be silent
 *   AGENT_NOTES    a file that gets a line for whatever the tools really do
 *   AGENT_GATES    a directory: what waits at a gate goes on when a file of its name is there
 */

import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type AgentContext, defineAgent, defineConfig, defineTool, Type } from "bridle";
import type { JsonObject, JsonValue } from "../../src/store/port.ts";
import { everythingProcess } from "./mcp-servers/calling.ts";
import { modelKeys } from "./models.ts";

const { MODEL_URL = "", MODEL_IDLE_MS = "60000", AGENT_NOTES = "", AGENT_GATES = "" } = process.env;
const gatePollMs = 10;

function note(line: string): void {
  appendFileSync(AGENT_NOTES, `${line}\n`);
}

async function gate(name: string): Promise<void> {
  while (!existsSync(join(AGENT_GATES, name))) await delay(gatePollMs);
}

/** Cannot be stopped: it goes on to its gate, whoever has given up waiting for it. */
function toolOf(name: string, effect: "none" | "reversible" | "irreversible") {
  return defineTool({
    name,
    description: `Does something ${effect}.`,
    input: Type.Object({ gate: Type.String() }),
    effect,
    async run({ gate: at }, { signal, idempotencyKey }) {
      note(`${name} ${at} ${idempotencyKey}`);
      signal.addEventListener("abort", () => note(`aborted ${at}`));
      await gate(at);
      return `${name} is through ${at}`;
    },
  });
}

type Op = JsonObject;
type Play = (ctx: AgentContext, op: Op) => Promise<JsonValue>;

/** What of an operation is part of a request as it is. */
function requestOf({ label, model, prompt, system, maxTokens, tools }: Op) {
  const names = (value: JsonValue | undefined) => (Array.isArray(value) ? value.map(String) : undefined);
  return {
    prompt: String(prompt),
    ...(label === undefined ? {} : { label: String(label) }),
    ...(system === undefined ? {} : { system: String(system) }),
    ...(model === undefined ? {} : { model: names(model) ?? String(model) }),
    ...(maxTokens === undefined ? {} : { maxTokens: Number(maxTokens) }),
    ...(tools === undefined ? {} : { tools: names(tools) ?? [] }),
  };
}

function failAt(word: string): (text: string) => void {
  return (text) => {
    if (text.includes(word)) throw new TypeError(`The agent stumbles over ${word}.`);
  };
}

const plays: Record<string, Play> = {
  generate: async (ctx, op) => (await ctx.model.generate(requestOf(op))).text,
  stream: async (ctx, op) =>
    (
      await ctx.model.stream(requestOf(op), {
        visibility: op.visibility === "public" ? "public" : "internal",
        ...(op.failsAtText === undefined ? {} : { onText: failAt(String(op.failsAtText)) }),
      })
    ).text,
  /** Several prompts side by side. */
  async together(ctx, { prompts }) {
    const texts = Array.isArray(prompts) ? prompts.map(String) : [];
    const replies = texts.map((prompt) => ctx.model.stream({ label: "side", prompt }));
    return (await Promise.all(replies)).map(({ text }) => text).join(" ");
  },
  tool: (ctx, { name, input }) => ctx.tool(String(name), input ?? {}),
  step: (ctx, { gate: at }) =>
    ctx.step("wait", async () => {
      note(`waiting ${at}`);
      await gate(String(at));
      return null;
    }),
  /** What a request that the code of a step makes would say about its trace. */
  trace: (ctx) => ctx.step("trace", ({ traceHeaders }) => traceHeaders.traceparent ?? null),
  ask: (ctx, { prompt }) => ctx.ask(String(prompt)),
  spawn: async (ctx, { ops = [] }) => (await (await ctx.spawn({ input: { ops } })).result()).status,
  async secret(ctx, { name }) {
    await ctx.secret(String(name));
    return "read";
  },
  /** The whole conversation is sent with each of its turns. */
  async chat(ctx, { turns, text, isSame = false }) {
    const say = (turn: number) => (isSame ? String(text) : `${text} ${turn}`);
    let { messages } = await ctx.model.generate({ label: "chat", prompt: say(1) });
    for (let turn = 2; turn <= Number(turns); turn++) {
      const said = [...messages, { role: "user" as const, content: say(turn) }];
      messages = (await ctx.model.generate({ label: "chat", messages: said })).messages;
    }
    return messages.length;
  },
  async remember(ctx, { text }) {
    const before = await ctx.conversation();
    const messages = [...before, { role: "user" as const, content: String(text) }];
    return (await ctx.model.generate({ label: "chat", messages })).text;
  },
};

/** Does what its input says, one thing after the other, and gives back what came of each. */
const player = defineAgent({
  name: "player",
  version: "1.0.0",
  async run(ctx) {
    const ops = (Array.isArray(ctx.input.ops) ? ctx.input.ops : []) as Op[];
    const results: JsonValue[] = [];
    for (const op of ops) results.push((await plays[String(op.do)]?.(ctx, op)) ?? null);
    return results.every((result) => typeof result === "string") ? results.join("\n") : results;
  },
});

export default defineConfig({
  agents: [player],
  tools: [
    toolOf("lamp.look", "none"),
    toolOf("valve.turn", "reversible"),
    toolOf("rocket.launch", "irreversible"),
  ],
  mcpServers: {
    everything: { ...everythingProcess(), effects: { elicits: "reversible" } },
    // What a server does not say can be undone cannot be.
    wild: everythingProcess(),
  },
  models: {
    default: "local/anything",
    providers: {
      anthropic: { kind: "anthropic", baseUrl: `${MODEL_URL}/v1`, apiKey: modelKeys.anthropic },
      openai: { kind: "openai", baseUrl: `${MODEL_URL}/v1`, apiKey: modelKeys.openai },
      google: { kind: "google", baseUrl: `${MODEL_URL}/v1beta`, apiKey: modelKeys.google },
    },
    prices: { "local/priced": { input: 10, output: 1000 } },
    idleTimeoutMs: Number(MODEL_IDLE_MS),
  },
});
