/** Answers a question from notes, and has an agent on another server review the answer before anybody sees it. */

import { type AgentContext, AgentFailure, defineAgent, Type, Value } from "bridle";

const Review = Type.Object({ accepted: Type.Boolean(), remarks: Type.Array(Type.String()) });
const roundsMax = 2;

export const researcher = defineAgent({
  name: "researcher",
  version: "1.0.0",
  description: "Answers questions from a folder of notes.",
  skills: [{ id: "research", description: "Answer a question" }],
  async run(ctx) {
    const question = ctx.text;
    const tools = ["notes.*"];
    let draft = await ctx.model.generate({
      label: "draft",
      system: ctx.persona.instructions,
      prompt: question,
      tools,
    });
    for (let round = 1; round <= roundsMax; round++) {
      const { accepted, remarks } = await review(ctx, question, draft.text);
      if (accepted) break;
      await ctx.say(`The reviewer says: ${remarks.join(" ")}`);
      const content = `A reviewer says:\n${remarks.join("\n")}\n\nWrite the answer anew.`;
      draft = await ctx.model.generate({
        label: "revise",
        messages: [...draft.messages, { role: "user", content }],
        tools,
      });
    }
    await ctx.artifact({ name: "answer.md", mimeType: "text/markdown", text: draft.text });
    return draft.text;
  },
});

/** Over OPVS, as a task of the other server. The persona says who reviews. */
async function review(ctx: AgentContext, question: string, draft: string) {
  const [reviewer] = ctx.persona.handoffs ?? [];
  if (reviewer === undefined) throw new AgentFailure("no_reviewer", "The persona names nobody in handoffs.");
  const { status, summary, output } = await ctx.handoff({ url: reviewer, input: { question, draft } });
  if (status !== "SUCCEEDED")
    throw new AgentFailure("not_reviewed", `The reviewer came to no end: ${summary}`);
  if (!Value.Check(Review, output)) throw new AgentFailure("not_reviewed", "The reviewer gave no review.");
  return output;
}
