/** Who the agent is in a task: what of its persona's policy is for the agent to know. */

import type { TaskRecord } from "../../kernel/kinds/task.ts";
import type { AgentPersona } from "../agents/agent-model.ts";

export function personaOf({
  persona_id: id,
  policy,
}: Pick<TaskRecord, "persona_id" | "policy">): AgentPersona {
  const { persona_version: version, tools = null, handoffs = null, model_policy = {} } = policy;
  const contextPacks = [...(policy.context_packs ?? [])];
  const { model, alternatives = [], instructions = "", max_steps: maxSteps = null } = model_policy;
  const models = [...(model === undefined ? [] : [model]), ...alternatives];
  return Object.freeze({ id, version, instructions, models, tools, handoffs, maxSteps, contextPacks });
}
