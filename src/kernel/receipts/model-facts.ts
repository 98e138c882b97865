/** Which models a task called, why those, and what they cost, for its receipt. */

import type { ModelRef, ProviderCost, Receipt } from "../../receipts/schema.ts";
import type { EventPayloads } from "../core/events.ts";
import type { ModelCallEnded } from "../kinds/model-call.ts";
import { type Amounts, rounded } from "../kinds/quota.ts";

export const noModel: Receipt["model_route"] = {
  chosen_model: { provider: "none", model: "none" },
  alternatives_considered: [],
  route_policy_reason: "no model call was made",
};

/** Models that the agent's own code called: the log has what they gave, not which they were. */
const unrecorded: Receipt["model_route"] = {
  chosen_model: { provider: "unrecorded", model: "unrecorded" },
  alternatives_considered: [],
  route_policy_reason: "the agent's own code chose and called the model",
};

/** Different models listed one by one. */
const listedMax = 50;

interface Answered {
  ref: ModelRef;
  reason: string;
  calls: number;
  cost: Required<Pick<ProviderCost, "amount" | "input_tokens" | "output_tokens">>;
}

export class ModelFacts {
  readonly #answered = new Map<string, Answered>();
  readonly #considered = new Map<string, ModelRef>();
  #callsUnrecorded = false;
  #lastFailure: string | null = null;

  add(span: EventPayloads["span.completed"] | EventPayloads["span.failed"]): void {
    const { kind, model_call, declared_model } = span;
    if (kind !== "llm") return;
    if (model_call !== undefined) this.#addCall(model_call);
    else if (declared_model !== undefined) this.#addDeclared(declared_model, span.spent ?? {});
    else this.#callsUnrecorded = true;
  }

  get wereCalled(): boolean {
    return this.#answered.size > 0 || this.#callsUnrecorded || this.#lastFailure !== null;
  }

  /** The agent's own code called it, and says that it was this one. */
  #addDeclared(model: string, { usd = 0, input_tokens = 0, output_tokens = 0 }: Amounts): void {
    const usage = { input_tokens, output_tokens };
    this.#count(refOf(model), "declared by the agent's own code, which called it", usage, usd);
  }

  #addCall({ chosen, reason, considered, usage, usd }: ModelCallEnded): void {
    for (const { model, reason: why } of considered) {
      if (this.#considered.size < listedMax) this.#considered.set(model, { ...refOf(model), reason: why });
    }
    if (chosen === null) {
      this.#lastFailure = reason;
      return;
    }
    const version = chosen.served_by === null ? {} : { version: chosen.served_by };
    const ref = { provider: chosen.provider, model: chosen.model, ...version };
    this.#count(ref, reason, usage, usd ?? 0);
  }

  #count(ref: ModelRef, reason: string, usage: ModelCallEnded["usage"], usd: number): void {
    const name = `${ref.provider}/${ref.model}`;
    const known = this.#answered.get(name);
    if (known === undefined && this.#answered.size >= listedMax) return;
    const { calls = 0, cost = { amount: 0, input_tokens: 0, output_tokens: 0 } } = known ?? {};
    this.#answered.set(name, {
      ref,
      reason: known?.reason ?? reason,
      calls: calls + 1,
      cost: {
        amount: rounded(cost.amount + usd),
        input_tokens: cost.input_tokens + usage.input_tokens,
        output_tokens: cost.output_tokens + usage.output_tokens,
      },
    });
  }

  /** The model that answered most often is the one that was chosen; the others are told beside it. */
  get route(): Receipt["model_route"] {
    const [first, ...others] = [...this.#answered.values()].sort((a, b) => b.calls - a.calls);
    if (first === undefined) {
      const failed = { ...noModel, route_policy_reason: this.#lastFailure ?? "" };
      if (this.#lastFailure !== null)
        return { ...failed, alternatives_considered: [...this.#considered.values()] };
      return this.#callsUnrecorded ? unrecorded : noModel;
    }
    const chosen = `${first.ref.provider}/${first.ref.model}`;
    const also = others.map(({ ref, calls, reason }) => ({
      ...ref,
      reason: `answered ${calls} calls: ${reason}`,
    }));
    const passed = [...this.#considered].filter(([name]) => name !== chosen && !this.#answered.has(name));
    return {
      chosen_model: { ...first.ref, reason: first.reason },
      alternatives_considered: [...also, ...passed.map(([, ref]) => ref)],
      route_policy_reason: first.reason,
    };
  }

  /** What each model cost, and what was counted without saying for which. */
  breakdown({ usd = 0, input_tokens = 0, output_tokens = 0 }: Amounts): ProviderCost[] {
    const known = [...this.#answered.values()];
    const sum = (name: keyof Answered["cost"]) => known.reduce((total, { cost }) => total + cost[name], 0);
    const rest = rounded(usd - sum("amount"));
    return [
      ...known.map(({ ref: { provider, model }, cost }) => ({ provider, model, ...cost })),
      ...(rest <= 0
        ? []
        : [
            {
              provider: "unrecorded",
              amount: rest,
              input_tokens: Math.max(0, input_tokens - sum("input_tokens")),
              output_tokens: Math.max(0, output_tokens - sum("output_tokens")),
            },
          ]),
    ];
  }
}

function refOf(name: string): ModelRef {
  const slash = name.indexOf("/");
  if (slash < 1) return { provider: "unrecorded", model: name };
  return { provider: name.slice(0, slash), model: name.slice(slash + 1) };
}
