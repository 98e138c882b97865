/** Schemas of zod, valibot and ArkType wherever TypeBox is taken: the types that authors get are checked by the compiler. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { type Agent, type AgentContext, defineAgent, defineTool, type Schema, Type, Value } from "bridle";
import { rehearse } from "bridle/testing";
import * as v from "valibot";
import { z } from "zod";

const Order = {
  typebox: Type.Object({ id: Type.String(), count: Type.Integer({ minimum: 1 }) }),
  zod: z.object({ id: z.string(), count: z.int().min(1) }),
  valibot: toStandardJsonSchema(
    v.object({ id: v.string(), count: v.pipe(v.number(), v.integer(), v.minValue(1)) }),
  ),
  arktype: type({ id: "string", count: "number.integer >= 1" }),
};

interface Typed {
  id: string;
  count: number;
}

/** Only compiled: each call has the type of its schema, and one that is used otherwise does not compile. */
export async function typed(ctx: AgentContext): Promise<Typed[]> {
  const asked: Typed[] = [
    await ctx.ask("?", Order.zod),
    await ctx.ask("?", Order.valibot),
    await ctx.ask("?", Order.arktype),
    await ctx.waitFor("paid", { schema: Order.zod }),
    await ctx.waitFor("paid", { schema: Order.arktype }),
  ];
  const { object } = await ctx.model.generate({ prompt: "?", output: Order.valibot });
  const tool = defineTool({
    ...{ name: "order", description: "Orders.", effect: "none" as const },
    input: Order.zod,
    output: Order.arktype,
    run: ({ id, count }) => ({ id, count }),
  });
  defineAgent({
    ...{ name: "one", version: "1" },
    input: Order.zod,
    run: async ({ input }) => input.count + 1,
  });
  defineAgent({
    ...{ name: "two", version: "1" },
    skills: [{ id: "order", description: "Orders.", input: Order.valibot }],
    run: async ({ input }) => input.count + 1,
  });
  // @ts-expect-error: the input of an agent is an object
  defineAgent({ name: "three", version: "1", input: z.string(), run: async () => 1 });
  // @ts-expect-error: the tool takes a number
  await ctx.tool(tool, { id: "A-1", count: "2" });
  // @ts-expect-error: the answer has no such member
  (await ctx.ask("?", Order.zod)).price;
  return [...asked, object, await ctx.tool(tool, { id: "A-1", count: 2 })];
}

function orderer(input: Schema): Agent {
  const order = defineTool({ name: "order", description: "Orders.", input, effect: "none", run: () => 1 });
  return defineAgent({
    name: "orderer",
    version: "1",
    input,
    tools: [order],
    async run(ctx) {
      const asked = await ctx.ask("How many?", input);
      const { object } = await ctx.model.generate({ prompt: "Which?", output: input, tools: ["order"] });
      return [ctx.input, asked, object].map((value) => Value.Parse(Order.typebox, value).count);
    },
  });
}

const order = { id: "A-1", count: 2 };

describe("Standard Schema", () => {
  for (const [library, schema] of Object.entries(Order)) {
    test(`SCH-1 ${library} describes and checks input, tools, answers and what models give`, async () => {
      const agent = orderer(schema);
      const people = { answers: [{ id: "A-1", count: 3 }] };
      const tools = [{ toolCalls: [{ name: "order", input: { id: "A-1", count: -1 } }] }];
      const models = [...tools, { object: { id: "A-1", count: 0 } }, { object: { id: "A-1", count: 5 } }];
      const run = await rehearse(agent, { input: order, models, people });
      assert.deepEqual(run.output, [2, 3, 5]);
      const [first, second] = run.models;
      assert.deepEqual(Object.keys(Object(first?.tools?.[0]?.input.properties)).sort(), ["count", "id"]);
      assert.match(JSON.stringify(second?.messages), /tool_input_invalid.*count/);
      await assert.rejects(rehearse(agent, { input: { id: "A-1" } }), /not what the agent orderer takes/);
      const wrong = { answers: [{ id: "A-1", count: 0 }] };
      await assert.rejects(rehearse(agent, { input: order, people: wrong }), /does not fit/);
    });
  }

  test("SCH-2 code is given what the schema makes of a value; the log keeps what was sent", async () => {
    const Defaulted = z.object({
      name: z.string().default("nobody"),
      at: z.string().transform((text) => text.length),
    });
    const upper = defineTool({
      name: "upper",
      description: "Writes large.",
      input: z.object({ text: z.string().transform((text) => text.toUpperCase()) }),
      output: z.object({ text: z.string(), by: z.string().default("upper") }),
      effect: "none",
      run: ({ text }) => ({ text }),
    });
    const agent = defineAgent({
      name: "maker",
      version: "1",
      input: Defaulted,
      tools: [upper],
      async run(ctx) {
        const length: number = ctx.input.at;
        const { text, by } = await ctx.tool(upper, { text: "abc" });
        const asked = await ctx.ask("And you?", Defaulted);
        return { name: ctx.input.name, length, text, by, asked };
      },
    });
    const run = await rehearse(agent, {
      input: { at: "four" },
      people: { answers: [{ at: "sixsix" }] },
      crashEverywhere: true,
    });
    assert.deepEqual(run.output, {
      name: "nobody",
      length: 4,
      text: "ABC",
      by: "upper",
      asked: { name: "nobody", at: 6 },
    });
    await assert.rejects(
      rehearse(agent, { input: { at: 4 } }),
      /not what the agent maker takes: must be string/,
    );
  });

  test("SCH-3 an answer that only the schema's code refuses is asked for again, with the reason", async () => {
    const Even = z.object({ count: z.number().refine((count) => count % 2 === 0, "must be even") });
    const agent = defineAgent({
      name: "asker",
      version: "1",
      run: async (ctx) => (await ctx.ask("How many?", Even)).count,
    });
    const answers = [{ count: 1 }, { count: 2 }];
    const run = await rehearse(agent, { input: "", people: { answers }, crashEverywhere: true });
    assert.equal(run.output, 2);
    const waiting = await rehearse(agent, { input: "", people: { answers: [{ count: 1 }] } });
    assert.equal(waiting.waitingFor?.what, "How many? (count must be even)");
    const never = await rehearse(agent, { input: "", people: { answers: Array(10).fill({ count: 1 }) } });
    assert.equal(never.failure?.code, "invalid_answer");
    assert.match(never.failure?.message ?? "", /No answer to "How many\?" fits: count must be even\./);
  });

  test("SCH-4 a schema that cannot be JSON Schema is refused where it is given, with what to do", async () => {
    const terms = { name: "t", description: "T.", effect: "none", run: () => 1 } as const;
    assert.throws(() => defineTool({ ...terms, input: v.object({ a: v.string() }) }), {
      name: "TypeError",
      message:
        /valibot schema cannot be converted.*toStandardJsonSchema\(schema\) of @valibot\/to-json-schema/,
    });
    assert.throws(
      () => defineTool({ ...terms, input: z.object({ at: z.date() }) }),
      /zod schema cannot be converted/,
    );
    assert.throws(() => defineTool({ ...terms, input: z.string() }), /schema of an object/);
    const agent = { version: "1", run: async () => "x" };
    assert.throws(
      () => defineAgent({ name: "dated", ...agent, input: z.object({ at: z.date() }) }),
      /Agent dated.*zod schema cannot be converted/,
    );
  });
});
