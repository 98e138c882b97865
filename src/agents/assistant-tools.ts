/** What the assistant has beside the tools that its persona names: each is a few calls on `ctx`, recorded and allowed as such. */

import { Type } from "typebox";
import type { AgentContext } from "../runtime/agents/agent.ts";
import { defineContextTool } from "../tools/define.ts";

const foundMax = 20;

export const memoryTools = [
  defineContextTool({
    name: "memory.write",
    description:
      "Remember something beyond this conversation, under a short key; it takes the place of what was there.",
    input: Type.Object({ key: Type.String({ minLength: 1, maxLength: 100 }), content: Type.String() }),
    effect: "none",
    async runWith(ctx: Pick<AgentContext, "memory">, { key, content }) {
      await ctx.memory.write(key, content);
      return `Remembered ${key}.`;
    },
  }),
  defineContextTool({
    name: "memory.search",
    description: "Look for what was remembered before: everything that has all of these words.",
    input: Type.Object({ words: Type.String({ minLength: 1 }) }),
    effect: "none",
    async runWith(ctx: Pick<AgentContext, "memory">, { words }) {
      const found = await ctx.memory.search(words);
      return found.slice(0, foundMax).map(({ key, content }) => ({ key, content }));
    },
  }),
];

export const askTool = defineContextTool({
  name: "ask_person",
  description: "Ask the person something that only they can know or decide, and wait for the answer.",
  input: Type.Object({ question: Type.String({ minLength: 1 }) }),
  effect: "none",
  runWith: (ctx: Pick<AgentContext, "ask">, { question }) => ctx.ask(question),
});

/** The others are personas of this server, and agents elsewhere by their URLs. */
export function handOffTool(targets: readonly string[]) {
  return defineContextTool({
    name: "hand_off",
    description: `Give a piece of work to another agent and wait for what comes of it. One of: ${targets.join(", ")}.`,
    input: Type.Object({
      to: Type.String({ minLength: 1 }),
      work: Type.String({
        minLength: 1,
        description: "All that the other needs to know: it sees nothing of this conversation.",
      }),
    }),
    effect: "none",
    async runWith(ctx: Pick<AgentContext, "handoff">, { to, work }) {
      const target = /^https?:\/\//.test(to) ? { url: to } : { persona: to };
      const { status, summary, output } = await ctx.handoff({ ...target, input: work });
      return { status, summary, output };
    },
  });
}
