/**
 * One durable model call, the step `llm:<label>:<n>`.
 *
 * Invariants
 *   M1  What the model is given is on disk before it is asked, and its answer before the agent sees it. A call whose answer is
 *       recorded is never made again.
 *   M2  A call that had begun when the process died is made again, under the same key and the same reservation.
 *   M3  Code that is repeated must say the same to the model: the hash of the messages is compared. The tools that it is offered
 *       are the server's, and may be others after an upgrade; they are for the calls that are still to come.
 */

import type { StepSpan } from "../../kernel/core/events.ts";
import type { ModelCallBegun } from "../../kernel/kinds/model-call.ts";
import type { Amounts } from "../../kernel/kinds/quota.ts";
import type { ModelMessage } from "../../models/messages.ts";
import type { ModelCall, ModelSource } from "../../models/model.ts";
import type { Redactor } from "../../policy/redact/redact.ts";
import { hashOf } from "../../receipts/canonical.ts";
import type { JsonObject } from "../../store/port.ts";
import type { StreamOptions } from "../agents/agent-model.ts";
import { AgentFailure } from "../run/failures.ts";
import type { JournalEntry } from "../run/journal.ts";
import { never } from "../run/promises.ts";
import { failedStep, noteResult, outputOf, performStep } from "../run/recorded-steps.ts";
import type { Attempted } from "../run/recording.ts";
import type { Run } from "../run/run.ts";
import type { Allowance } from "./allowance.ts";
import { answerIn, type RecordedAnswer, recordOf, withoutHalfSecret } from "./answer.ts";
import { type AttemptsEnd, askModels, type Failed } from "./attempts.ts";
import { beyondBudget, reserved } from "./call-budget.ts";
import { DeltaTeller } from "./deltas.ts";
import { knownMessages, messageHash, type Piece, piecesOf, sealPieces } from "./input-record.ts";
import { type Route, routeOf } from "./route.ts";

type InputHashes = Pick<ModelCallBegun, "sha256" | "messages_sha256">;

export interface ModelStep {
  label: string;
  model: string | readonly string[] | undefined;
  /** Without secrets: see `redactedMessages`. */
  call: ModelCall;
  stream: StreamOptions | null;
}

/** Asks a model. When the budget ended the answer and a person lets the run go on, it is asked once more. */
export async function askModel(run: Run, models: ModelSource, step: ModelStep): Promise<RecordedAnswer> {
  while (true) {
    const { answer, key } = await performCall(run, models, step);
    if (answer.is_cut !== true) return answer;
    await beyondBudget(run, models, key, answer);
  }
}

async function performCall(
  run: Run,
  models: ModelSource,
  step: ModelStep,
): Promise<{ answer: RecordedAnswer; key: string }> {
  const label = run.redactor.text(step.label);
  const key = run.key(`llm:${label}`);
  const span: StepSpan = { step: key, kind: "llm", name: label };
  const { call, model } = step;
  const route = routeOf(run.task, models, model, call.maxOutputTokens);
  if (route.refusal !== null && !run.recording.journal.has(key))
    return await refuse(run, span, route.refusal);
  const hashes = call.messages.map(messageHash);
  const input: InputHashes = {
    sha256: hashOf({ settings: settingsOf(call), tools: call.tools ?? [], messages: hashes }),
    messages_sha256: hashOf(hashes),
  };
  const allowance = await reserved(run, models, span, route, call);
  const recorded = await recalled(run, key, input);
  const known = knownMessages(run);
  if (recorded !== undefined && recorded.ended === null) await run.recording.resume(key);
  const answer =
    recorded?.ended != null
      ? answerIn(await outputOf(run, recorded))
      : await run.perform(async () => {
          // A replay that is cut off asks again from the top; what it began is of no use to it.
          if (recorded === undefined && !run.recording.isReplay) {
            const pieces = piecesOf(call.messages, hashes, known);
            await begin(run, span, { call, route, pieces, input });
          }
          return await perform(run, models, span, step, route, allowance);
        }, span);
  known.learn(key, [...hashes, messageHash(answer.message)]);
  return { answer, key };
}

/** What may not be asked is a step that failed, in the log and for the agent. */
async function refuse(run: Run, span: StepSpan, refusal: AgentFailure): Promise<never> {
  const { code, message } = refusal;
  await performStep(run, span, async () => ({ error: { code, message } })).catch(() => {});
  throw refusal;
}

/** What the model is given is on disk when this resolves (M1). */
async function begin(
  run: Run,
  span: StepSpan,
  { call, route, pieces, input }: { call: ModelCall; route: Route; pieces: Piece[]; input: InputHashes },
): Promise<void> {
  await run.recording.note((unit, task) => {
    const model_call: ModelCallBegun = {
      input: sealPieces(unit, pieces),
      ...input,
      candidates: route.candidates,
      tools: (call.tools ?? []).map(({ name }) => name),
      settings: settingsOf(call),
    };
    return unit.emit(task, "span.started", { ...span, model_call });
  });
  await run.flush();
}

async function perform(
  run: Run,
  models: ModelSource,
  span: StepSpan,
  { call, stream }: ModelStep,
  route: Route,
  allowance: Allowance,
): Promise<RecordedAnswer> {
  const heard = new Listener(stream?.onText);
  const listen = (attempt: number) => {
    const teller = new DeltaTeller(run, span.step, attempt, stream?.visibility ?? "internal");
    return {
      hear(delta: { type: "text" | "reasoning"; text: string }) {
        if (!run.recording.isReplay) teller.hear(delta);
        if (delta.type === "text") heard.tell(delta.text);
      },
      end: (isWhole: boolean) => teller.end(isWhole),
    };
  };
  // A budget can only be kept to in the middle of an answer that is heard as it comes.
  const isHeard = stream !== null || allowance.outputTokens !== null;
  const { signal } = run;
  const pause = (ms: number, { message, ...failed }: Failed) => {
    const until = new Date(run.kernel.clock.now() + ms).toISOString();
    const told = { by: "retry", ...failed, message: run.redactor.text(message), until } as const;
    return run.runningSteps.whileBlocked(span.step, told, () => run.pause(ms));
  };
  const headers = { ...run.traceOf(span.step) };
  const random = () => run.kernel.chance.random(run.task, span.step);
  const end = await untilOver(run, () =>
    askModels({
      models,
      route,
      call,
      allowance,
      signal,
      headers,
      pause,
      random,
      listen: isHeard ? listen : null,
    }),
  );
  const { told } = end;
  const spent: Amounts = {
    input_tokens: told.usage.input_tokens,
    output_tokens: told.usage.output_tokens,
    ...(told.usd === null ? {} : { usd: told.usd }),
  };
  // What the agent sees now must be what it will see when the step comes from the journal.
  const attempted = await run.redact((redactor) =>
    redactor.value(heard.failure ?? attemptedOf(redactor, end, allowance)),
  );
  await noteResult(run, span, attempted, { amounts: spent, spent }, () => ({ model_call: told }));
  if ("error" in attempted) throw new AgentFailure(attempted.error.code, attempted.error.message);
  return answerIn(attempted.output);
}

/**
 * The agent's own code, which hears what the model says. When it fails, so does the step, once the model has said all: that is no reason
 * to ask again.
 */
class Listener {
  readonly #onText: StreamOptions["onText"];
  failure: Extract<Attempted, { error: unknown }> | null = null;

  constructor(onText: StreamOptions["onText"]) {
    this.#onText = onText;
  }

  tell(text: string): void {
    if (this.failure !== null) return;
    try {
      this.#onText?.(text);
    } catch (error) {
      this.failure = failedStep(error);
    }
  }
}

function attemptedOf(redactor: Redactor, end: AttemptsEnd, { outputTokens }: Allowance): Attempted {
  if ("error" in end) return { error: end.error };
  const { model, isCut, told } = end;
  const answer = withoutHalfSecret(end.answer, redactor);
  const room = outputTokens === null ? {} : { room: outputTokens };
  return {
    output: {
      ...recordOf(answer, model, told.usd),
      ...(isCut ? { is_cut: true, ...room } : {}),
    } as JsonObject,
  };
}

/** A run that is over has no use for an answer, nor for the reason why there is none. */
async function untilOver<T>(run: Run, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (run.signal.aborted) return await never();
    throw error;
  }
}

/** What is recorded of the call, if it is of this one (M3). A replay may ask live models what it did not ask then. */
async function recalled(run: Run, key: string, input: InputHashes): Promise<JournalEntry | undefined> {
  const recorded = await run.recording.recall(key);
  const begun = recorded?.begun?.event === "span.started" ? recorded.begun.payload.model_call : undefined;
  if (begun === undefined || begun.sha256 === input.sha256) return recorded;
  const anew = run.recording.anew(key);
  if (anew !== null) return anew.own;
  if (begun.messages_sha256 === input.messages_sha256) return recorded;
  await run.recording.differs(
    `${key} with the input ${begun.messages_sha256}`,
    `${key} with the input ${input.messages_sha256}`,
  );
  return recorded;
}

function settingsOf(call: ModelCall): JsonObject {
  const { messages: _, tools: __, ...settings } = call;
  return JSON.parse(JSON.stringify(settings));
}

/** What the model is given is also written down, so it is without the secrets that the run was given. */
export function redactedMessages(run: Run, messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message) => {
    const redacted = run.redactor.value(message);
    return JSON.stringify(redacted) === JSON.stringify(message) ? message : redacted;
  });
}
