/**
 * A server whose agent `worker` does what its input says, one thing after the other, and gives back what came of each; a
 * failure is a result too, by its code.
 *
 *   AGENT_NOTES   a file to which it appends a line for each effect that is really carried out
 */

import { appendFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type AgentContext, AgentFailure, defineAgent, startServer } from "bridle";
import { risks } from "../../src/kernel/kinds/persona.ts";
import type { JsonObject, JsonValue } from "../../src/store/port.ts";
import { sayReady } from "./ready.ts";

const { AGENT_NOTES = "" } = process.env;

type Play = (ctx: AgentContext, op: JsonObject) => Promise<JsonValue>;

const object = (value: JsonValue | undefined): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
const list = (value: JsonValue | undefined): JsonValue[] => (Array.isArray(value) ? value : []);
const number = (name: string, value: JsonValue | undefined) =>
  typeof value === "number" ? { [name]: value } : {};

const plays: Record<string, Play> = {
  async effect(ctx, { name, risk, expiresInMs }) {
    const runCommand = () => {
      appendFileSync(AGENT_NOTES, `${name}\n`);
      return "done";
    };
    const known = risks.find((each) => each === risk);
    const options = {
      payload: { of: "it" },
      ...(known === undefined ? {} : { risk: known }),
      ...number("expiresInMs", expiresInMs),
    };
    return (await ctx.effect(String(name), runCommand, options)).outcome;
  },
  llm: (ctx, { model, maxTokens }) =>
    ctx.step("call", () => "tokens", {
      kind: "llm",
      ...(typeof model === "string" ? { model } : {}),
      ...number("maxTokens", maxTokens),
    }),
  mcp: (ctx, { name }) => ctx.step(String(name), () => "called", { kind: "mcp" }),
  step: (ctx, { name }) => ctx.step(String(name), () => "stepped"),
  async spend(ctx, { tokens, usd }) {
    await ctx.spend({ ...number("outputTokens", tokens), ...number("usd", usd) });
    return "spent";
  },
  async say(ctx, { text }) {
    await ctx.say(String(text));
    return "said";
  },
  artifact: (ctx, { name }) => ctx.artifact({ name: String(name), text: "content" }),
  ask: (ctx, { question }) => ctx.ask(String(question)),
  /** All children at once; of each its end, or why there was none. */
  async spawn(ctx, { persona, times, ops }) {
    const children = Array.from({ length: Number(times ?? 1) }, async () => {
      const child = await ctx.spawn({
        ...(typeof persona === "string" ? { personaId: persona } : {}),
        input: { ops: ops ?? [] },
      });
      const { status, output } = await child.result();
      return { status, output };
    });
    return await Promise.all(children.map((child) => child.catch(codeOf)));
  },
};

function codeOf(error: unknown): string {
  return error instanceof AgentFailure ? error.code : String(error);
}

const worker = defineAgent({
  name: "worker",
  version: "1.0.0",
  async run(ctx) {
    const results: JsonValue[] = [];
    for (const op of list(ctx.input.ops).map(object))
      results.push((await plays[String(op.do)]?.(ctx, op).catch(codeOf)) ?? null);
    return results;
  },
});

const { values } = parseArgs({ options: { port: { type: "string" }, data: { type: "string" } } });
const { url } = await startServer({
  port: Number(values.port),
  dataDirectory: String(values.data),
  concurrency: 512,
  apiKey: process.env.BRIDLE_API_KEY ?? null,
  agents: [worker],
});
sayReady({ url });
