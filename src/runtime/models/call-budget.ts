/** The budget of one model call: what is reserved before it, and what happens when it was not enough. */

import type { StepSpan } from "../../kernel/core/events.ts";
import { settle } from "../../kernel/quotas/ledger.ts";
import { tokensOfCall } from "../../models/estimate.ts";
import type { ModelCall, ModelSource, Price } from "../../models/model.ts";
import { costOf } from "../../models/prices.ts";
import { withinBudget } from "../run/budget.ts";
import type { Run } from "../run/run.ts";
import { type Allowance, allowanceOf, answerTokensMax } from "./allowance.ts";
import type { RecordedAnswer } from "./answer.ts";
import type { Route } from "./route.ts";

/** Reserves what the call may use: all that it asks for, what an answer may come to, or what is left. */
export async function reserved(
  run: Run,
  models: ModelSource,
  span: StepSpan,
  route: Route,
  call: ModelCall,
): Promise<Allowance> {
  const done = run.runningSteps.begin(span);
  try {
    return await untilReserved(run, models, span.step, route, call);
  } finally {
    done();
  }
}

async function untilReserved(
  run: Run,
  models: ModelSource,
  key: string,
  { candidates }: Route,
  call: ModelCall,
): Promise<Allowance> {
  const free: Allowance = { outputTokens: null, wallTimeMs: null };
  if (run.task.quota_ids.length === 0) {
    await withinBudget(run, key, {});
    return free;
  }
  const inputTokens = tokensOfCall(call);
  const price = priceOf(models, candidates[0] ?? "");
  const isRecorded = run.recording.journal.has(key);
  for (let waitedMs = 0; ; waitedMs += heldPauseMs) {
    // What the steps before it used, instead of what they had reserved.
    await run.flush();
    const allowance = isRecorded ? free : await allowanceOf(run, key, inputTokens, price);
    const outputTokens = Math.max(
      1,
      Math.min(allowance.outputTokens ?? 1, call.maxOutputTokens ?? answerTokensMax),
    );
    const usd = price === null ? 0 : costOf({ inputTokens, outputTokens }, price);
    const amounts = { input_tokens: inputTokens, output_tokens: outputTokens, usd };
    if (await withinBudget(run, key, amounts, waitedMs < heldMsMax)) {
      return isRecorded ? await allowanceOf(run, key, inputTokens, price) : allowance;
    }
    await run.runningSteps.whileBlocked(key, { by: "budget" }, () => run.pause(heldPauseMs));
  }
}

/** What is reserved for models that are answering mostly comes back: who finds nothing left waits for that, within reason. */
const heldPauseMs = 250;
const heldMsMax = 10 * 60 * 1000;

function priceOf(models: ModelSource, name: string): Price | null {
  try {
    return models.open(name).price;
  } catch {
    return null;
  }
}

/**
 * The budget is used up in the middle of an answer: what the quota says happens, as before a step. What would be needed is more than
 * there was room for, whatever the provider says that it used.
 */
export async function beyondBudget(
  run: Run,
  models: ModelSource,
  key: string,
  { usage, room = 0, model }: RecordedAnswer,
): Promise<void> {
  const more = `${key}:more`;
  const inputTokens = usage.input_tokens;
  const outputTokens = Math.max(usage.output_tokens, room) + 1;
  const price = priceOf(models, model);
  const usd = price === null ? 0 : costOf({ inputTokens, outputTokens }, price);
  await withinBudget(run, more, { output_tokens: outputTokens, usd });
  await run.record((unit, task) => {
    settle(unit, task, more, {});
    return unit.require("task", task.id);
  });
}
