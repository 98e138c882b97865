/** What the project brings: its agents, and the models that they think with. Names only; keys are never told. */

import { Providers } from "../../models/configured.ts";
import { createModels } from "../../models/providers.ts";
import type { Environment, ModelSettings } from "../../models/settings.ts";
import type { Project } from "../../project/load.ts";
import { shown } from "../../project/load-problem.ts";
import { type Answer, ok, problem } from "./finding.ts";

export function configuration({ file, agents }: Project): Answer {
  const names = agents.map(({ agent }) => `${agent.name}@${agent.version}`);
  const having = names.length === 0 ? "no agents of its own" : `agents ${names.join(", ")}`;
  return ok(file === null ? `none here; ${having}` : `${shown(file)} loads; ${having}`);
}

export function models(settings: ModelSettings, env: Environment): Answer {
  const { defaultModel, open } = createModels(settings, env);
  const usable = new Providers(settings, env).usable();
  const providers =
    usable.length === 0 ? "no provider is configured" : `providers that can be used: ${usable.join(", ")}`;
  if (defaultModel === null) return ok(`${providers}; no default model`);
  try {
    open(defaultModel);
  } catch (error) {
    return problem(
      `the default model cannot be used: ${error instanceof Error ? error.message : String(error)}`,
      "Until then, agents that name no other model fail.",
    );
  }
  return ok(`${providers}; the default model is ${defaultModel}`);
}
