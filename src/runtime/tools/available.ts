/** `ctx.tools`: what can be used now, of what the persona lets the run use. */

import { HarnessError } from "../../kernel/errors.ts";
import { requireNamedTool, requireTool } from "../../kernel/persona-policy.ts";
import type { AvailableTool } from "../agent-model.ts";
import type { Run } from "../run.ts";
import { type FoundTool, nameOf, type Toolbox } from "./toolbox.ts";

export async function availableTools(
  run: Run,
  toolbox: Toolbox,
  names: readonly string[] = run.task.policy.tools ?? ["*"],
): Promise<AvailableTool[]> {
  const found = await toolbox.all(names);
  return found
    .filter((tool) => mayUse(run, tool))
    .map((tool) => ({ name: nameOf(tool), description: tool.tool.description }));
}

function mayUse({ task }: Run, found: FoundTool): boolean {
  const name = nameOf(found);
  try {
    if (found.kind === "local" && found.tool.isOptIn === true) requireNamedTool(task, name);
    else if (found.kind === "mcp" || "run" in found.tool) requireTool(task, name);
    return true;
  } catch (error) {
    if (error instanceof HarnessError) return false;
    throw error;
  }
}
