/** What the persona says about a local tool. */

import { requireCapability, requireNamedTool, requireTool } from "../../kernel/personas/persona-policy.ts";
import type { AnyTool } from "../../tools/tool.ts";
import type { AgentContext } from "../agents/agent.ts";
import type { Run } from "../run/run.ts";

/** What a tool does on `ctx` is allowed or not when it does it; all others are named by the persona, or by no list at all. */
export function assertMayUse({ task }: Pick<Run, "task">, tool: AnyTool<AgentContext>): void {
  if (tool.isOptIn === true) requireNamedTool(task, tool.name);
  else if ("run" in tool) requireTool(task, tool.name);
  for (const capability of tool.capabilities ?? []) requireCapability(task, capability);
}
