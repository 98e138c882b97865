/** Reviews the answers of others: what it gives is a review, not a better answer. */

import { defineAgent, Rejected, Type, Value } from "bridle";

const Draft = Type.Object({ question: Type.String(), draft: Type.String() });
const Review = Type.Object({
  accepted: Type.Boolean(),
  remarks: Type.Array(Type.String(), { description: "What is missing or wrong, one sentence each." }),
});

export const reviewer = defineAgent({
  name: "reviewer",
  version: "1.0.0",
  description: "Reviews an answer: does it answer the question, and does it say where it is from?",
  skills: [{ id: "review", description: "Review an answer to a question", input: Draft, output: Review }],
  // Everybody who reaches the server may call it: see docs/protocols/agent-cards.md.
  card: { public: true },
  async run(ctx) {
    if (!Value.Check(Draft, ctx.input)) throw new Rejected("A question and a draft are needed.");
    const { question, draft } = ctx.input;
    const { object } = await ctx.model.generate({
      label: "review",
      system:
        "You review answers. Accept one that answers the question, briefly, and names its sources. Otherwise say what is missing.",
      prompt: `Question: ${question}\n\nAnswer: ${draft}`,
      output: Review,
    });
    return object;
  },
});
