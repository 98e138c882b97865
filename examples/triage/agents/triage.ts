/** Classifies new issues with a model and labels them. What looks urgent is given to somebody, and a person says to whom. */

import { defineAgent, Rejected, Type, Value } from "bridle";
import { addLabels, assign } from "../tools.ts";

/** What a task of a connector is given: see docs/guides/connectors.md. */
const Delivery = Type.Object({
  body: Type.Object({
    data: Type.Object({ number: Type.Integer(), title: Type.String(), text: Type.String() }),
  }),
});

const Verdict = Type.Object({
  kind: Type.Union([Type.Literal("bug"), Type.Literal("feature"), Type.Literal("question")]),
  area: Type.Union([Type.Literal("billing"), Type.Literal("login"), Type.Literal("other")]),
  urgent: Type.Boolean({
    description: "People cannot work, lose data or lose money until it is dealt with.",
  }),
  reason: Type.String({ description: "Why, in one sentence." }),
});

export const triage = defineAgent({
  name: "triage",
  version: "1.0.0",
  description: "Labels new issues, and finds somebody for the urgent ones.",
  tools: [addLabels, assign],
  async run(ctx) {
    if (!Value.Check(Delivery, ctx.input)) throw new Rejected("This is not an issue.");
    const { number: issue, title, text } = ctx.input.body.data;

    // Anybody can write an issue, so the model that reads it gets no tools: all that it can say is a verdict.
    const { object: verdict } = await ctx.model.generate({
      label: "classify",
      system: ctx.persona.instructions,
      prompt: `Issue ${issue}: ${title}\n\n${text}`,
      output: Verdict,
    });
    const { kind, area, urgent, reason } = verdict;
    await ctx.tool(addLabels, { issue, labels: [kind, area, ...(urgent ? ["urgent"] : [])] });
    if (!urgent) return `Issue ${issue} is a ${kind} (${area}).`;

    const { assignee } = await ctx.ask(
      `Issue ${issue}, "${title}", looks urgent: ${reason} Who takes it?`,
      Type.Object({ assignee: Type.String() }),
    );
    await ctx.tool(assign, { issue, assignee });
    return `Issue ${issue} is an urgent ${kind} (${area}), and ${assignee} takes it.`;
  },
});
