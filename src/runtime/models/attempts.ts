/**
 * Asking models until one answers: each of the candidates in their order, each several times while what is wrong may pass.
 * Nothing here is durable; who calls it records what came of it.
 */

import type { ModelCallEnded, ModelConsidered } from "../../kernel/kinds/model-call.ts";
import { tokensOfCall, tokensOfText } from "../../models/estimate.ts";
import {
  type ModelAnswer,
  type ModelCall,
  type ModelDelta,
  ModelError,
  type ModelSource,
  type ModelUsage,
  type OpenModel,
} from "../../models/model.ts";
import { costOf } from "../../models/prices.ts";
import { retryDelay } from "../../models/retry.ts";
import { type Allowance, answerTokensMax } from "./allowance.ts";
import type { Route } from "./route.ts";

/** Longer than this nobody waits for a provider while there is another one to ask. */
const patienceMs = 5000;
/** A provider may count a little differently than we estimate, before it is stopped for saying too much. */
const overrunFactor = 1.25;
const overrunTokens = 16;

export interface Attempts {
  models: ModelSource;
  route: Route;
  call: ModelCall;
  allowance: Allowance;
  signal: AbortSignal;
  /** Sent with every attempt. */
  headers: Readonly<Record<string, string>>;
  random: () => number;
  /** Lets time pass before the next attempt; rejects when the signal is aborted. */
  pause: (ms: number, failed: Failed) => Promise<void>;
  /** Given, the answers are streamed; called for each attempt, for those who listen to it. */
  listen: ((attempt: number) => { hear(delta: ModelDelta): void; end(isWhole: boolean): void }) | null;
}

/** The attempt that is to be repeated: of which model, and what it failed with. */
export interface Failed {
  what: string;
  attempt: number;
  code: string;
  message: string;
}

export type AttemptsEnd = { told: ModelCallEnded } & (
  | { answer: ModelAnswer; model: string; isCut: boolean }
  | { error: { code: string; message: string } }
);

/** The budget has ended the answer. */
class BudgetReached extends Error {}

export async function askModels(attempts: Attempts): Promise<AttemptsEnd> {
  const { models, route } = attempts;
  const considered = [...route.excluded];
  const tally = new Tally();
  let failure: ModelError | null = null;
  let count = 0;
  for (const name of route.candidates) {
    let tried = 0;
    try {
      const model = models.open(name);
      while (true) {
        tried += 1;
        count += 1;
        try {
          const { answer, isCut } = await attemptOnce(model, count, attempts, tally);
          const chosen = chosenOf(model, answer);
          const reason = reasonOf(route, name, considered);
          const told = tally.ended({ chosen, reason, considered, attempts: count }, isCut);
          return { answer, model: name, isCut, told };
        } catch (error) {
          if (!(error instanceof ModelError)) throw error;
          tally.add(error.usage, model);
          const isLast = name === route.candidates.at(-1);
          const delay = retryDelay(tried, error, attempts.random);
          if (delay === null || (!isLast && delay > patienceMs)) throw error;
          const { code, message } = error;
          await attempts.pause(delay, { what: name, attempt: tried, code, message });
        }
      }
    } catch (error) {
      attempts.signal.throwIfAborted();
      if (!(error instanceof ModelError)) throw error;
      failure = error;
      const times = tried > 1 ? ` after ${tried} attempts` : "";
      considered.push({ model: name, reason: `${error.code}${times}: ${error.message}` });
    }
  }
  const { code = "model_unavailable", message = "No model could be asked." } = failure ?? route.refusal ?? {};
  const reason = `no model answered; the last said ${code}`;
  const told = tally.ended({ chosen: null, reason, considered, attempts: count }, false);
  return { error: { code, message }, told };
}

/** One attempt, within what the budget allows. */
async function attemptOnce(
  model: OpenModel,
  attempt: number,
  { call, allowance, signal, headers, listen }: Attempts,
  tally: Tally,
): Promise<{ answer: ModelAnswer; isCut: boolean }> {
  const { outputTokens: most, wallTimeMs } = allowance;
  const stop = new AbortController();
  const timer = wallTimeMs === null ? null : setTimeout(() => stop.abort(new BudgetReached()), wallTimeMs);
  const listener = listen?.(attempt) ?? null;
  const said = { text: "", reasoning: "" };
  let isWhole = false;
  const onDelta = (delta: ModelDelta): void => {
    if (stop.signal.aborted) return;
    said[delta.type] += delta.text;
    listener?.hear(delta);
    const tokens = tokensOfText(said.text) + tokensOfText(said.reasoning);
    if (most !== null && tokens > most * overrunFactor + overrunTokens) stop.abort(new BudgetReached());
  };
  const isBounded = most !== null && most < (call.maxOutputTokens ?? answerTokensMax);
  const bounded = isBounded ? { ...call, maxOutputTokens: Math.max(1, most) } : call;
  try {
    const watch = {
      signal: AbortSignal.any([signal, stop.signal]),
      headers,
      ...(listener === null ? {} : { onDelta }),
    };
    const answer = await model.call(bounded, watch);
    isWhole = true;
    tally.add(answer.usage, model);
    return { answer, isCut: isBounded && answer.finishReason === "length" };
  } catch (error) {
    if (!(stop.signal.reason instanceof BudgetReached) || signal.aborted) throw error;
    const usage: ModelUsage = {
      inputTokens: tokensOfCall(call),
      outputTokens: tokensOfText(said.text) + tokensOfText(said.reasoning),
      isEstimated: true,
    };
    tally.add(usage, model);
    return { answer: cutAnswer(said.text, usage), isCut: true };
  } finally {
    if (timer !== null) clearTimeout(timer);
    listener?.end(isWhole);
  }
}

/** What was said until the budget ended it. */
function cutAnswer(text: string, usage: ModelUsage): ModelAnswer {
  return {
    text,
    toolCalls: [],
    object: null,
    finishReason: "length",
    usage,
    message: { role: "assistant", content: text },
    servedBy: null,
  };
}

function chosenOf({ provider, model }: OpenModel, { servedBy }: ModelAnswer): ModelCallEnded["chosen"] {
  return { provider, model, served_by: servedBy };
}

function reasonOf(
  { candidates, reason }: Route,
  name: string,
  considered: readonly ModelConsidered[],
): string {
  if (name === candidates[0]) return reason;
  const failed = considered.filter(({ model }) => candidates.includes(model));
  return `an alternative, since ${failed.map(({ model, reason: why }) => `${model} gave ${why.split(":")[0]}`).join(" and ")}`;
}

/** What all attempts used together. */
class Tally {
  #inputTokens = 0;
  #outputTokens = 0;
  #cachedTokens = 0;
  #isEstimated = false;
  #usd: number | null = 0;

  add(usage: ModelUsage | null, { price }: OpenModel): void {
    if (usage === null) return;
    this.#inputTokens += usage.inputTokens;
    this.#outputTokens += usage.outputTokens;
    this.#cachedTokens += usage.cachedInputTokens ?? 0;
    this.#isEstimated ||= usage.isEstimated === true;
    this.#usd = price === null || this.#usd === null ? null : this.#usd + costOf(usage, price);
  }

  ended(told: Omit<ModelCallEnded, "usage" | "usd" | "is_cut">, isCut: boolean): ModelCallEnded {
    return {
      ...told,
      usage: {
        input_tokens: this.#inputTokens,
        output_tokens: this.#outputTokens,
        ...(this.#cachedTokens === 0 ? {} : { cached_input_tokens: this.#cachedTokens }),
        ...(this.#isEstimated ? { is_estimated: true } : {}),
      },
      usd: this.#usd,
      ...(isCut ? { is_cut: true } : {}),
    };
  }
}
