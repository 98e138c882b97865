/** The agent of a soak: it acts on a world outside that counts, as its text says. Loaded by real servers with `--agents`. */

import { type AgentContext, defineAgent, defineTool, Type } from "bridle";

async function act(key: string): Promise<string> {
  const response = await fetch(`${process.env.SOAK_OUTSIDE}/${encodeURIComponent(key)}`, { method: "POST" });
  return await response.text();
}

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: Type.Object({}),
  effect: "irreversible",
  run: (_, { idempotencyKey }) => act(idempotencyKey),
});

const acts: Record<string, (ctx: AgentContext) => Promise<unknown>> = {
  step: (ctx) => ctx.step("step", ({ idempotencyKey }) => act(idempotencyKey)),
  parallel: (ctx) =>
    Promise.all(["a", "b"].map((name) => ctx.step(name, ({ idempotencyKey }) => act(idempotencyKey)))),
  effect: (ctx) => ctx.effect("mail", ({ idempotencyKey }) => act(idempotencyKey)),
  tool: (ctx) => ctx.tool(pay, {}),
  ask: (ctx) => ctx.ask("Go on?"),
  file: (ctx) => ctx.files.write("note.txt", "a note"),
  sleep: (ctx) => ctx.sleep(200),
  say: (ctx) => ctx.say("still here"),
};

export const soaker = defineAgent({
  name: "soaker",
  version: "1",
  tools: [pay],
  async run(ctx) {
    for (const word of ctx.text.split(" ")) await acts[word]?.(ctx);
    return "done";
  },
});
