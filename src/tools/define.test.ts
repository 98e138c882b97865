/** Defining tools: what the types give to authors, and what is refused. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Static, Type } from "typebox";
import { defineContextTool, defineTool } from "./define.ts";
import { type AnyTool, riskOf, type ToolContext, type ToolDefinition } from "./tool.ts";

const search = defineTool({
  name: "web.search",
  description: "Finds pages.",
  input: Type.Object({ q: Type.String(), limit: Type.Optional(Type.Integer()) }),
  output: Type.Object({ hits: Type.Array(Type.String()) }),
  effect: "none",
  async run({ q, limit }, { signal }) {
    const words: string = q;
    const most: number | undefined = limit;
    signal.throwIfAborted();
    return { hits: [words].slice(0, most) };
  },
});

const ping = defineTool({ name: "ping", description: "Answers.", effect: "none", run: () => "pong" });

const note = defineContextTool({
  name: "note",
  description: "Notes something.",
  input: Type.Object({ text: Type.String() }),
  effect: "reversible",
  async runWith(ctx: { say(text: string): Promise<void> }, { text }) {
    await ctx.say(text.trim());
  },
});

// Checked by the compiler: what an author gets wrong does not compile.
defineTool({
  name: "wrong",
  description: "Its output is not what its schema says.",
  output: Type.Object({ n: Type.Number() }),
  effect: "none",
  // @ts-expect-error
  run: () => ({ n: "one" }),
});

test("TOL-1 tools of all kinds fit into one list and keep their types", async () => {
  // Given tools of all kinds, when they are put together, then they fit one list and keep their types.
  const tools: AnyTool<{ say(text: string): Promise<void>; more: number }>[] = [search, ping, note];
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["web.search", "ping", "note"],
  );
  type Output = typeof search extends ToolDefinition<infer _, infer O> ? Static<O> : never;
  const output: Output = { hits: [] };
  assert.deepEqual(output, { hits: [] });
  const context = { signal: new AbortController().signal } as ToolContext;
  assert.deepEqual(await search.run({ q: "a" }, context), { hits: ["a"] });
  const said: string[] = [];
  await note.runWith({ say: async (text) => void said.push(text) }, { text: " b " });
  assert.deepEqual(said, ["b"]);
});

test("TOL-1 a tool without a declared risk derives it from its effect", () => {
  // Given a tool that does not say its risk, when it is asked for, then it follows from the effect.
  assert.equal(riskOf({ effect: "none" }), "medium");
  assert.equal(riskOf({ effect: "irreversible" }), "high");
  assert.equal(riskOf({ effect: "irreversible", risk: "low" }), "low");
});

test("TOL-1 given a tool that is wrong, when it is defined, then a TypeError says what is", () => {
  const right = { name: "a", description: "It.", effect: "none" as const, run: () => null };
  for (const [wrong, message] of [
    [{ name: "" }, /name is a letter.*found ""/],
    [{ name: "1a" }, /name is a letter/],
    [{ name: "a b" }, /name is a letter/],
    [{ name: "a".repeat(101) }, /name is a letter/],
    [{ name: undefined }, /name is a letter/],
    [{ description: " " }, /Tool a needs a description/],
    [{ effect: "some" }, /one of none, reversible, irreversible/],
    [{ risk: "huge" }, /none of low, medium, high, dangerous/],
    [{ input: Type.String() }, /schema of an object/],
    [{ input: "q" }, /schema of an object/],
    [{ output: "q" }, /no schema/],
    [{ timeoutMs: 0 }, /whole number from 1 to 3600000/],
    [{ timeoutMs: 1.5 }, /whole number/],
    [{ timeoutMs: 3_600_001 }, /whole number/],
    [{ run: "it" }, /needs a function run/],
  ] as const) {
    const tool = { ...right, ...wrong } as unknown as ToolDefinition;
    assert.throws(() => defineTool(tool), { name: "TypeError", message });
  }
  assert.equal(defineTool({ ...right, timeoutMs: 3_600_000 }).name, "a");
});
