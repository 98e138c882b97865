/** The tools that a model is offered, under names that every provider takes, and the way back from those names. */

import type { OfferedTool } from "../../models/model.ts";
import type { JsonObject } from "../../store/port.ts";
import { jsonSchemaOf } from "../../tools/schema.ts";
import type { ToolChoice } from "../agents/agent-model.ts";
import { AgentFailure } from "../run/failures.ts";
import { type FoundTool, nameOf, type Toolbox } from "../tools/toolbox.ts";

/** What most providers take at once. */
const toolsMax = 128;
const nameCharsMax = 64;

export class Offer {
  readonly #found: ReadonlyMap<string, FoundTool>;

  constructor(found: ReadonlyMap<string, FoundTool>) {
    this.#found = found;
  }

  get tools(): OfferedTool[] {
    return [...this.#found].map(([name, { tool }]) => ({
      name,
      description: tool.description,
      input: "server" in tool ? tool.input : (jsonSchemaOf(tool.input) ?? anyObject),
    }));
  }

  find(name: string): FoundTool | undefined {
    return this.#found.get(name);
  }

  /** What is not known is not called either. */
  isHarmless(name: string): boolean {
    return (this.#found.get(name)?.tool.effect ?? "none") === "none";
  }
}

const anyObject: JsonObject = { type: "object", properties: {} };

export async function offerOf(toolbox: Toolbox, choices: readonly ToolChoice[]): Promise<Offer> {
  const found = new Map<string, FoundTool>();
  for (const choice of choices) {
    const tools: FoundTool[] =
      typeof choice === "string" ? await named(toolbox, choice) : [toolbox.given(choice)];
    for (const tool of tools) found.set(freeName(nameOf(tool), found), tool);
  }
  if (found.size > toolsMax) {
    throw new AgentFailure("too_many_tools", `A model can be offered ${toolsMax} tools, not ${found.size}.`);
  }
  return new Offer(found);
}

/** A pattern stands for what the persona lets the run use; what is named itself is refused when it is called. */
async function named(toolbox: Toolbox, name: string): Promise<FoundTool[]> {
  const found = await toolbox.all([name]);
  return name.endsWith("*") ? found.filter((tool) => toolbox.mayUse(tool)) : found;
}

/** `github.create_issue` becomes `github_create_issue`. */
function freeName(name: string, taken: ReadonlyMap<string, FoundTool>): string {
  const plain = name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, nameCharsMax);
  for (let n = 2, free = plain; ; n++) {
    const holder = taken.get(free);
    if (holder === undefined || nameOf(holder) === name) return free;
    free = `${plain.slice(0, nameCharsMax - 4)}_${n}`;
  }
}
