/** Which models are asked, in which order, and why those: what the agent says, else its persona, else the server. */

import { HarnessError } from "../../kernel/core/errors.ts";
import type { ModelConsidered } from "../../kernel/kinds/model-call.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { requireModel } from "../../kernel/personas/persona-policy.ts";
import type { ModelSource } from "../../models/model.ts";
import { AgentFailure } from "../run/failures.ts";

/** A request that names more models than this is a mistake. */
const candidatesMax = 6;

export interface Route {
  candidates: string[];
  /** Why the first of them is the first. */
  reason: string;
  /** Those that were named and may not be used. */
  excluded: ModelConsidered[];
  /** Why there is no candidate, when there is none. */
  refusal: AgentFailure | null;
}

export function routeOf(
  task: Pick<TaskRecord, "persona_id" | "policy">,
  models: Pick<ModelSource, "defaultModel">,
  asked: string | readonly string[] | undefined,
  maxTokens: number | undefined,
): Route {
  const nowhere = { candidates: [], reason: "no model could be chosen", excluded: [] };
  const named = namedModels(task, models, asked);
  if (named instanceof AgentFailure) return { ...nowhere, refusal: named };
  const { names, reason } = named;
  const excluded: ModelConsidered[] = [];
  const candidates = names.filter((model) => {
    const refusal = refusalOf(() => requireModel(task, { model, maxTokens }));
    if (refusal !== null) excluded.push({ model, reason: refusal.message });
    return refusal === null;
  });
  // The persona's rule is what the agent is told when nothing is left.
  const refusal = refusalOf(() => requireModel(task, { model: names[0], maxTokens }));
  return { candidates, reason, excluded, refusal: candidates.length === 0 ? refusal : null };
}

function namedModels(
  { policy }: Pick<TaskRecord, "policy">,
  { defaultModel }: Pick<ModelSource, "defaultModel">,
  asked: string | readonly string[] | undefined,
): { names: string[]; reason: string } | AgentFailure {
  const given = asked === undefined ? [] : typeof asked === "string" ? [asked] : [...new Set(asked)];
  if (given.length > candidatesMax) {
    return new AgentFailure("invalid_model", `A call may name ${candidatesMax} models at most.`);
  }
  const misnamed = given.find((name) => !/^[^/\s]+\/\S+$/.test(name));
  if (misnamed !== undefined) {
    return new AgentFailure(
      "invalid_model",
      `A model is named as provider/model; found ${JSON.stringify(misnamed)}.`,
    );
  }
  if (given.length > 0) return { names: given, reason: "the agent asked for it" };
  const { model, alternatives = [] } = policy.model_policy ?? {};
  if (model !== undefined) {
    return { names: [...new Set([model, ...alternatives])], reason: "the persona's model policy names it" };
  }
  if (defaultModel !== null) {
    return { names: [...new Set([defaultModel, ...alternatives])], reason: "it is the server's default" };
  }
  return new AgentFailure(
    "model_not_configured",
    "No model is set. Set BRIDLE_MODEL to one as provider/model (with its key, such as ANTHROPIC_API_KEY, or " +
      "BRIDLE_LOCAL_MODEL_URL for a local OpenAI-compatible server), name one in bridle.config.ts (models.default), or give the " +
      "persona a model_policy.model.",
  );
}

function refusalOf(check: () => void): AgentFailure | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof HarnessError) return new AgentFailure(error.code, error.message, error.details);
    throw error;
  }
}
