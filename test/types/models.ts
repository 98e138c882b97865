/** What the compiler says to those who use models and tools. Nothing here runs; see `agents.ts`. */

import {
  type AgentContext,
  defineContextTool,
  defineTool,
  type ModelMessage,
  Type,
} from "../../src/index.ts";
import type { JsonValue } from "../../src/store/port.ts";
import { assertSame } from "./same.ts";

const Verdict = Type.Object({ ok: Type.Boolean(), why: Type.Optional(Type.String()) });

export async function models(ctx: AgentContext): Promise<void> {
  const { text, model, messages, usage } = await ctx.model.generate({ prompt: "Hello" });
  assertSame<typeof text, string>(true);
  assertSame<typeof model, string>(true);
  assertSame<typeof messages, ModelMessage[]>(true);
  assertSame<typeof usage.usd, number | null>(true);

  const judged = await ctx.model.generate({ prompt: "Judge", output: Verdict });
  assertSame<typeof judged.object.ok, boolean>(true);
  // @ts-expect-error: the schema has no such property
  judged.object.okay;
  // @ts-expect-error: it may be absent
  const why: string = judged.object.why;

  const plain = await ctx.model.stream({ messages }, { onText: (piece) => piece.toUpperCase() });
  // @ts-expect-error: without a schema there is no object
  plain.object;

  // @ts-expect-error: either one text or a conversation
  await ctx.model.generate({ prompt: "Hello", messages });
  // @ts-expect-error: there is nothing to say
  await ctx.model.generate({ system: "Be brief." });
  // @ts-expect-error: models know no such role
  await ctx.model.generate({ messages: [{ role: "agent", content: "Hello" }] });
  // @ts-expect-error: tokens are counted
  await ctx.model.generate({ prompt: "Hello", maxTokens: "100" });
  // @ts-expect-error: what is heard is text, and nothing is given back to the model
  await ctx.model.stream({ prompt: "Hello" }, { onText: (piece: number) => piece });
  // @ts-expect-error: who may see it is one of two
  await ctx.model.stream({ prompt: "Hello" }, { visibility: "everybody" });
  // @ts-expect-error: a tool is a definition or a name
  await ctx.model.generate({ prompt: "Hello", tools: [{ name: "search" }] });
  // @ts-expect-error: the persona is not the agent's to change
  ctx.persona.instructions = why;
}

const search = defineTool({
  name: "search",
  description: "Looks for notes.",
  input: Type.Object({ words: Type.String(), most: Type.Optional(Type.Number()) }),
  output: Type.Array(Type.String()),
  effect: "none",
  async run({ words, most }, { signal, idempotencyKey }) {
    assertSame<typeof words, string>(true);
    assertSame<typeof most, number | undefined>(true);
    assertSame<typeof signal, AbortSignal>(true);
    assertSame<typeof idempotencyKey, string>(true);
    return [words];
  },
});

export async function tools(ctx: AgentContext): Promise<void> {
  const found = await ctx.tool(search, { words: "tides" });
  assertSame<typeof found, string[]>(true);
  const named = await ctx.tool("github.search", { q: "bridle" });
  assertSame<typeof named, JsonValue>(true);
  // @ts-expect-error: the words are missing
  await ctx.tool(search, { most: 3 });
  // @ts-expect-error: words are text
  await ctx.tool(search, { words: 5 });
  // @ts-expect-error: the input of a tool is JSON
  await ctx.tool("github.search", { since: new Date() });
  await ctx.model.generate({ prompt: "Find it", tools: [search, "github.*"] });
}

const terms = { name: "publish", description: "Publishes.", input: Type.Object({ version: Type.String() }) };

// @ts-expect-error: what it does to the world must be said
defineTool({ ...terms, run: () => "done" });
// @ts-expect-error: there is no such effect
defineTool({ ...terms, effect: "harmless", run: () => "done" });
// @ts-expect-error: there is no such risk
defineTool({ ...terms, effect: "irreversible", risk: "extreme", run: () => "done" });
// @ts-expect-error: what it gives is not what its schema says
defineTool({ ...terms, effect: "none", output: Type.Number(), run: () => "done" });
// @ts-expect-error: the input has no such property
defineTool({ ...terms, effect: "none", run: ({ tag }) => tag });
// @ts-expect-error: without code it does nothing
defineTool({ ...terms, effect: "none" });

defineContextTool({
  ...terms,
  effect: "none",
  async runWith(ctx: Pick<AgentContext, "ask">, { version }) {
    assertSame<typeof version, string>(true);
    // @ts-expect-error: it has asked for `ask` only
    await ctx.say("Hello");
    return await ctx.ask(`Publish ${version}?`);
  },
});
