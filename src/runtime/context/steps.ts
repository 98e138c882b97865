/** `ctx.step`, `ctx.effect` and `ctx.spend`: what an agent's own code does, and what it says that it used. */

import type { StepSpan } from "../../kernel/core/events.ts";
import type { Amounts } from "../../kernel/kinds/quota.ts";
import { requireModel, requireTool } from "../../kernel/personas/persona-policy.ts";
import { problemWithRetries, type RetryOptions, retriesDefault, retryPolicy } from "../../tools/retry.ts";
import type { AgentContext, Spending } from "../agents/agent.ts";
import { AgentFailure } from "../run/failures.ts";
import { jsonCopy } from "../run/json.ts";
import { allowed, oneCall, performStep } from "../run/recorded-steps.ts";
import type { Run } from "../run/run.ts";
import { mayPass } from "../run/step-attempts.ts";
import { attemptOf } from "../run/step-context.ts";
import { type EffectSpan, performEffect } from "./effects.ts";
import { readSecret } from "./secrets.ts";

export function stepsOf(run: Run): Pick<AgentContext, "step" | "effect" | "spend"> {
  const { task } = run;
  return {
    async step(given, code, { kind = "step", model, maxTokens, ...retry } = {}) {
      const name = run.redactor.text(given);
      assertRetries(name, retry);
      if (kind === "secret" && Object.keys(retry).length > 0)
        throw new TypeError(`Step ${name} reads a secret; such a step takes no retries.`);
      const span: StepSpan = { step: run.key(`${kind}:${name}`), kind, name };
      const attempt = attemptOf(run, span, code, retry.timeoutMs);
      if (kind === "llm") await allowed(run, span, () => requireModel(task, { model, maxTokens }));
      if (kind === "mcp") await allowed(run, span, () => requireTool(task, name));
      // The journal holds what this very step returned before, so it has the step's own type.
      type Output = Awaited<ReturnType<typeof code>>;
      if (kind === "secret") return (await readSecret(run, span, attempt)) as Output;
      const cost = kind === "llm" ? { declaredModel: model } : { amounts: oneCall };
      const terms = { ...cost, retry: retryPolicy(retry, { retries: retriesDefault, retryIf: mayPass }) };
      return (await performStep(run, span, attempt, terms)) as Output;
    },

    async effect(given, code, { payload = null, simulate = null, risk, expiresInMs, ...retry } = {}) {
      const name = run.redactor.text(given);
      assertRetries(name, retry);
      const span: EffectSpan = { step: run.key(`effect:${name}`), kind: "effect", name };
      await allowed(run, span, () => requireTool(task, name));
      const policy = retryPolicy(retry, { retries: 0, retryIf: mayPass });
      const terms = { ...(risk && { risk }), ...(expiresInMs && { expiresInMs }) };
      const effect = { intent: jsonCopy(payload), simulate: jsonCopy(simulate), ...terms };
      return await performEffect(run, span, effect, attemptOf(run, span, code, retry.timeoutMs), policy);
    },

    async spend(spending) {
      const spent = amountsOf(spending);
      const span: StepSpan = { step: run.key("spend"), kind: "spend", name: Object.keys(spent).join(", ") };
      await performStep(run, span, async () => ({ output: null }), { amounts: spent, spent });
    },
  };
}

/** The types say the same, but not to those who write JavaScript. */
function assertRetries(name: string, options: RetryOptions): void {
  const problem = problemWithRetries(options);
  if (problem !== null) throw new TypeError(`Step ${name}: ${problem}.`);
}

/** Whole tokens, and no refunds. */
function amountsOf({ inputTokens, outputTokens, usd }: Spending): Amounts {
  const amounts = { input_tokens: inputTokens, output_tokens: outputTokens, usd };
  const given = Object.entries(amounts).filter(([, amount]) => amount !== undefined);
  const wrong = given.find(
    ([name, amount]) => !isAmount(amount) || (name !== "usd" && !Number.isInteger(amount)),
  );
  if (wrong !== undefined)
    throw new AgentFailure(
      "invalid_spending",
      `${wrong[0]} is ${wrong[1]}; it must be a number that is not negative.`,
    );
  return Object.fromEntries(given);
}

function isAmount(amount: unknown): boolean {
  return typeof amount === "number" && Number.isFinite(amount) && amount >= 0;
}
