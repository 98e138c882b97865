/** Agents that use vaults and files in every way there is, good and bad. What to do is told by the input. */

import { type AgentContext, AgentFailure, defineAgent } from "bridle";

interface Ask {
  name?: string;
  vault?: string;
  path?: string;
  text?: string;
}

const deeds = {
  /** Gives its length only. */
  async length(ctx: AgentContext, { name = "", vault }: Ask) {
    return (await ctx.secret(name, vault === undefined ? {} : { vault })).length;
  },
  /** Puts it everywhere that an agent can put something. */
  async spill(ctx: AgentContext, { name = "" }: Ask) {
    const value = await ctx.secret(name);
    await ctx.say(`It is ${value}.`);
    await ctx.say([{ type: "json", value: { [value]: [value] }, visibility: "internal" }]);
    await ctx.progress(`Trying ${value}`);
    await ctx.checkpoint(`with ${value}`);
    await ctx.step(`call ${value}`, () => ({ header: value }));
    await ctx.artifact({ name: `${value}.txt`, text: `key: ${value}`, metadata: { value } });
    await ctx.files.write("spilled.txt", `key: ${value}`);
    await ctx.files.write(`spilled-${value}.txt`, "words").catch(() => null);
    await ctx.files.read(`spilled-${value}`).catch(() => null);
    await ctx.secret(`${value}`).catch(() => null);
    const answer = await ctx.ask(`Is ${value} right?`);
    throw new AgentFailure("spilled", `${value} was refused: ${answer}`, { value });
  },
  /** Asks a person between two reads, so that the second is in another run of the code. */
  async twice(ctx: AgentContext, { name = "" }: Ask) {
    const first = await ctx.secret(name).catch((error: Error) => error.message);
    await ctx.ask("Go on?");
    const second = await ctx.secret(name).catch((error: Error) => error.message);
    return [first.length, second.length];
  },
  async write(ctx: AgentContext, { path = "", text = "" }: Ask) {
    const { sha256, bytes } = await ctx.files.write(path, text);
    return { sha256, bytes };
  },
  /** What it has read stays what it was, whatever becomes of the file meanwhile. */
  async reread(ctx: AgentContext, { path = "" }: Ask) {
    const before = await ctx.files.read(path);
    const listed = (await ctx.files.list()).map((entry) => entry.name);
    await ctx.ask("Go on?");
    return { before, listed, after: await ctx.files.read(path) };
  },
  /** Writes what the environment says, so that a restart can change it. */
  async changing(ctx: AgentContext, { path = "" }: Ask) {
    await ctx.files.write(path, process.env.KEEPER_TEXT ?? "first");
    await ctx.ask("Go on?");
    return "done";
  },
} as const;

export default defineAgent({
  name: "keeper",
  version: "1.0.0",
  async run(ctx) {
    const texts = Object.entries(ctx.input).filter(([, value]) => typeof value === "string");
    const ask: Ask = Object.fromEntries(texts);
    const deed = Object.entries(deeds).find(([name]) => name === ctx.input.do)?.[1];
    return await deed?.(ctx, ask);
  },
});
