/**
 * Agents for tests of the command line. What a task does is told by the words of its input; what the next release of the code would
 * do differently is told by `change`, so that one file is both the old code and the new. `notes` is a file that gets a line
 * whenever code of a step really runs.
 */

import { appendFileSync } from "node:fs";
import { type Agent, type AgentContext, AgentFailure, defineAgent } from "bridle";

export function travelAgents(change: string, notes: string): { travel: Agent; packer: Agent } {
  const version = change === "next version" ? "2.0.0" : "1.0.0";

  /** The agent's code after a change, and before it otherwise. */
  function changed<T>(what: string, after: T, before: T): T {
    return change === what ? after : before;
  }

  function really<T>(what: string, gives: T): () => T {
    return () => {
      if (notes !== "") appendFileSync(notes, `${what}\n`);
      return gives;
    };
  }

  const search = (ctx: AgentContext) =>
    ctx.step(changed("renamed step", "look-up", "search"), really("search", { price: 120 }));

  const choose = (ctx: AgentContext) =>
    ctx.step("choose", really("choose", { text: "The early train." }), { kind: "llm" });

  /** Plans a trip. */
  const travel = defineAgent({
    name: "travel",
    version,
    async run(ctx) {
      const has = (word: string) => ctx.text.split(" ").includes(word);
      if (change === "steps in another order") await choose(ctx);
      const { price } = await search(ctx);
      if (change === "added step") await ctx.step("compare", really("compare", null));
      const choice =
        change === "steps in another order" || change === "removed step"
          ? { text: "The early train." }
          : await choose(ctx);
      if (has("secret")) await ctx.step("card", really("card", "4711-0815-4711-0815"), { kind: "secret" });
      await ctx.checkpoint("planned");
      await ctx.say(`${choice.text} ${changed("changed message", "For", "It costs")} ${price}.`);
      if (has("bargain")) {
        if (price > 100) await ctx.step("haggle", really("haggle", "no luck"));
        else await ctx.artifact({ name: "bargain.txt", text: `Only ${price}!` });
      }
      if (has("praise") && price <= 100)
        await ctx.step("praise", really("praise", "Well done."), { kind: "llm" });
      if (has("large")) await ctx.step("timetable", really("timetable", "06:00 ".repeat(2000)));
      if (has("huge")) await ctx.step("map", really("map", "land and sea ".repeat(500_000)));
      if (has("child")) {
        const child = await ctx.spawn({ personaId: "persona_packer", input: "child" });
        await child.result();
      }
      if (has("artifact")) {
        await ctx.artifact({
          name: "plan.txt",
          text: changed("changed artifact", "Leave at seven.", "Leave at six."),
        });
      }
      if (has("stream")) {
        const log = await ctx.streamArtifact({ name: "log.txt" });
        for (const line of ["one\n", changed("changed stream", "2\n", "two\n")]) await log.write(line);
        await log.close();
      }
      const day = has("ask")
        ? await ctx.ask(changed("changed question", "On which day?", "Which day?"))
        : "today";
      if (has("approve")) await ctx.approve({ action: changed("changed approval", "pay for it", "book it") });
      if (has("approve")) await ctx.step("book", really("book", "booked"));
      if (has("fail"))
        throw new AgentFailure("sold_out", changed("changed failure", "None left.", "No seats left."));
      return changed("changed result", `Bon voyage ${day}.`, `Have a good trip ${day}.`);
    },
  });

  /** The child. */
  const packer = defineAgent({
    name: "packer",
    version,
    async run(ctx) {
      await ctx.step(changed("changed child", "throw in", "fold"), really("fold", "folded"));
      return "packed";
    },
  });

  return { travel, packer };
}
