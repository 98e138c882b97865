/**
 * A general assistant, made by its persona alone: a model that is given instructions, the conversation, the tools that the
 * persona names, a memory, somebody to ask and others to hand work to. What it may do by itself is the persona's to say.
 */

import { type AgentContext, defineAgent } from "../runtime/agents/agent.ts";
import { AgentFailure } from "../runtime/run/failures.ts";
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
    const { instructions, handoffs, maxSteps } = ctx.persona;
    const { names, missing } = await toolsOf(ctx);
    const own = [...memoryTools, askTool, ...(handoffs?.length ? [handOffTool(handoffs)] : [])];
    const reply = await ctx.model.stream(
      {
        label: "assistant",
        system: systemFor(instructions, handoffs ?? [], missing) + (await packsOf(ctx)),
        messages: [...(await ctx.conversation()), { role: "user", content: saidTo(ctx) }],
        tools: [...own, ...names],
        maxSteps: maxSteps ?? stepsDefault,
      },
      { visibility: "public" },
    );
    return reply.text;
  },
});

/** The tools that the persona names. One that is not there now is for the model to know, and no reason to do nothing. */
async function toolsOf(ctx: AgentContext): Promise<{ names: string[]; missing: string[] }> {
  const names: string[] = [];
  const missing: string[] = [];
  for (const name of ctx.persona.tools ?? []) {
    try {
      names.push(...(await ctx.tools([name])).map((tool) => tool.name));
    } catch (error) {
      if (!(error instanceof AgentFailure)) throw error;
      missing.push(`${name} (${error.message})`);
    }
  }
  return { names: [...new Set(names)], missing };
}

function systemFor(instructions: string, handoffs: readonly string[], missing: readonly string[]): string {
  const others = handoffs.length === 0 ? "" : `\n\nYou can hand work to: ${handoffs.join(", ")}.`;
  const away = missing.length === 0 ? "" : `\n\nNot available now: ${missing.join("; ")}`;
  return (instructions || usual) + others + away;
}

async function packsOf(ctx: AgentContext): Promise<string> {
  let text = "";
  for (const name of ctx.persona.contextPacks) text += `\n\n# ${name}\n\n${await ctx.context(name)}`;
  return text;
}

/** Everything that the task was given, as text. */
function saidTo({ text, parts, input }: AgentContext): string {
  const json = parts.flatMap((part) => (part.type === "json" ? [JSON.stringify(part.value)] : []));
  const said = [text, ...json].filter((piece) => piece !== "").join("\n");
  return said === "" ? JSON.stringify(input) : said;
}
