/**
 * A general assistant, made by its persona alone: a model that is given instructions, the conversation, the tools that the
 * persona names, a memory, somebody to ask and others to hand work to. What it may do by itself is the persona's to say.
 */

import { type AgentContext, defineAgent } from "../runtime/agent.ts";
import { askTool, handOffTool, memoryTools } from "./assistant-tools.ts";

const stepsDefault = 20;

const usual = `You are a helpful assistant. Do what the person asks with the tools that you have; say so when you cannot. Do not make up
what you can look up. When a tool is refused or fails, tell the person what happened and what you suggest. Answer briefly, in the
person's language.`;

export const assistant = defineAgent({
  name: "assistant",
  version: "1.0.0",
  description:
    "A general assistant: a model with tools, memory, approvals and hand-offs, as its persona says.",
  skills: [
    { id: "assist", name: "Assist", description: "Answers, and does what it is asked with its tools." },
  ],
  async run(ctx) {
    const { instructions, tools, handoffs, maxSteps } = ctx.persona;
    // A star in the persona's list does not stand for what it must name.
    const named = (await ctx.tools(tools ?? [])).map(({ name }) => name);
    const own = [...memoryTools, askTool, ...(handoffs?.length ? [handOffTool(handoffs)] : [])];
    const reply = await ctx.model.stream(
      {
        label: "assistant",
        system: systemFor(instructions, handoffs ?? []),
        messages: [...(await ctx.conversation()), { role: "user", content: saidTo(ctx) }],
        tools: [...own, ...named],
        maxSteps: maxSteps ?? stepsDefault,
      },
      { visibility: "public" },
    );
    return reply.text;
  },
});

function systemFor(instructions: string, handoffs: readonly string[]): string {
  const others = handoffs.length === 0 ? "" : `\n\nYou can hand work to: ${handoffs.join(", ")}.`;
  return (instructions || usual) + others;
}

/** Everything that the task was given, as text. */
function saidTo({ text, parts, input }: AgentContext): string {
  const json = parts.flatMap((part) => (part.type === "json" ? [JSON.stringify(part.value)] : []));
  const said = [text, ...json].filter((piece) => piece !== "").join("\n");
  return said === "" ? JSON.stringify(input) : said;
}
