/** `ctx.tools`: what can be used now, of what the persona lets the run use. */

import type { AvailableTool } from "../agents/agent-model.ts";
import type { Run } from "../run/run.ts";
import { nameOf, type Toolbox } from "./toolbox.ts";

export async function availableTools(
  run: Run,
  toolbox: Toolbox,
  names: readonly string[] = run.task.policy.tools ?? ["*"],
): Promise<AvailableTool[]> {
  const found = await toolbox.all(names);
  return found
    .filter((tool) => toolbox.mayUse(tool))
    .map((tool) => ({ name: nameOf(tool), description: tool.tool.description }));
}
