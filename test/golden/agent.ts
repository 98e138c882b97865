/**
 * The agent whose tasks wait in the golden data directories. Its code must stay as it is: tasks that began with it years ago go on
 * with it. Another behaviour is another word.
 */

import { Type } from "typebox";
import { defineAgent } from "../../src/runtime/agents/agent.ts";
import { defineTool } from "../../src/tools/define.ts";

/** Nobody who opens the directory later is too late. */
const expiresInMs = 100 * 365 * 24 * 60 * 60 * 1000;

const pay = defineTool({
  name: "golden.pay",
  description: "Pays.",
  input: Type.Object({ cents: Type.Integer() }),
  effect: "irreversible",
  risk: "high",
  run: ({ cents }) => ({ paid: cents }),
});

export const golden = defineAgent({
  name: "golden",
  version: "1.0.0",
  tools: [pay],
  async run(ctx) {
    switch (ctx.text) {
      case "input":
        return { name: await ctx.ask("Name?", Type.String(), { expiresInMs }) };
      case "approval":
        await ctx.approve({ action: "ship", payload: { build: 7 }, risk: "high", expiresInMs });
        return "shipped";
      case "effect":
        return (await ctx.effect("mail", () => "sent", { payload: { to: "ann" }, expiresInMs })).output;
      case "tool":
        return (await ctx.tool(pay, { cents: 4900 })) as { paid: number };
      case "sleep":
        await ctx.sleep(60_000);
        return "awake";
      case "child": {
        const child = await ctx.spawn({ input: "input" });
        return { child: (await child.result()).status };
      }
      case "host":
        return await ctx.host("wallet.sign", { pin: 1 }, { expiresInMs, readOnly: true });
      case "secret": {
        const before = await ctx.step("look", () => "looked");
        await ctx.ask("Go on?", Type.String(), { expiresInMs });
        const secret = await ctx.secret("token");
        return { before, length: await ctx.step("measure", () => secret.length) };
      }
      default:
        await ctx.say(`heard ${ctx.text}`);
        return "x".repeat(20_000);
    }
  },
});
