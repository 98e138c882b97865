/**
 * A small release, from a list of changes to a notice that somebody approved: a step, a model that asks for a tool, another
 * step, a question, an approval, an effect, an artifact. The model is a script and nothing leaves the server, so it runs
 * anywhere; all the rest is what any agent is given. `bridle tour` shows it, and kills the server in the middle of it.
 */

import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Type } from "typebox";
import { guideName } from "../models/guide.ts";
import { defineAgent } from "../runtime/agents/agent.ts";
import { ApprovalDenied } from "../runtime/run/failures.ts";
import { defineTool } from "../tools/define.ts";

/** Set by `bridle tour` for a server of its own: a file where code leaves a line each time that it really runs. */
export const tallyVariable = "BRIDLE_TOUR_TALLY";

const changes = [
  "Orders above 500 wait for a person to approve them",
  "The page of invoices opens in half the time",
  "A job of the night that is cut off goes on where it was",
];

/** Slow enough to be seen. */
const proofreadMsDefault = 600;
const proofreadMsMax = 60_000;

const today = defineTool({
  name: "tour.today",
  description: "Today's date.",
  input: Type.Object({}),
  output: Type.String(),
  effect: "none",
  run() {
    leaveMark("tour.today");
    return new Date().toISOString().slice(0, 10);
  },
});

export const tour = defineAgent({
  name: "tour",
  version: "1.0.0",
  description:
    "Shows what the harness does, with a script in the place of a model: steps, a tool, a question, an approval.",
  skills: [{ id: "tour", name: "Tour", description: "Makes a small release that goes nowhere." }],
  input: Type.Object({
    proofread_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: proofreadMsMax })),
  }),
  tools: [today],
  async run(ctx) {
    const { proofread_ms = proofreadMsDefault } = ctx.input;
    const collected = await ctx.step("collect", () => {
      leaveMark("collect");
      return changes;
    });
    const draft = await ctx.model.stream(
      {
        label: "draft",
        model: guideName,
        prompt: `Write release notes for these changes:\n${collected.map((change) => `- ${change}`).join("\n")}`,
        tools: [today],
      },
      { visibility: "public", onText: once(() => leaveMark("draft")) },
    );
    const words = await ctx.step("proofread", async ({ signal }) => {
      leaveMark("proofread");
      await pause(proofread_ms, undefined, { signal });
      return draft.text.split(/\s+/).length;
    });
    const { name } = await ctx.ask(
      "What shall this release be called?",
      Type.Object({ name: Type.String({ minLength: 1, maxLength: 40 }) }),
    );
    const notice = { name, notes: draft.text, words };
    try {
      await ctx.approve({ action: `publish ${name}`, payload: notice, risk: "high" });
    } catch (error) {
      if (error instanceof ApprovalDenied) return `${name} was not published: a person said no.`;
      throw error;
    }
    await ctx.effect(
      "publish",
      () => {
        // Here an agent would send, deploy or pay.
        leaveMark("publish");
        return { published: name };
      },
      { payload: notice, risk: "high" },
    );
    await ctx.artifact({
      name: "release-notes.md",
      mimeType: "text/markdown",
      text: `# ${name}\n\n${draft.text}\n`,
    });
    return `${name} is published, with ${collected.length} changes in ${words} words. Nobody was told: this is a tour.`;
  },
});

function leaveMark(name: string): void {
  const file = process.env[tallyVariable];
  if (file !== undefined) appendFileSync(file, `${name} ${process.pid}\n`);
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}
