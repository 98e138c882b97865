/**
 * Calls of tools of MCP servers: the step `mcp:<server>:<tool>:<n>`. What a server asks in the middle of a call is asked of the
 * person, under names of their own (`ask:<step>:<n>`), so that a call that is made again after a crash is given the same answers.
 */

import { requireTool } from "../../kernel/personas/persona-policy.ts";
import {
  type Elicitation,
  type ElicitationAnswer,
  type McpAccess,
  McpError,
  type McpToolInfo,
} from "../../mcp-client/mcp.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { retriesDefault, retryPolicy } from "../../tools/retry.ts";
import type { ToolEffect } from "../../tools/tool.ts";
import type { EffectSpan } from "../context/effects.ts";
import { askedBefore, askPerson } from "../context/questions.ts";
import { WaitExpired } from "../run/failures.ts";
import { never } from "../run/promises.ts";
import { allowed } from "../run/recorded-steps.ts";
import type { Attempted } from "../run/recording.ts";
import type { Run } from "../run/run.ts";
import { type Acted, actAs, type ToolRequested } from "./act.ts";

/** A server that asks more often than this in one call is not asking. */
const questionsMax = 10;
export async function callMcpTool(
  run: Run,
  mcp: McpAccess,
  { server, name, effect }: McpToolInfo,
  { input, callId }: ToolRequested,
): Promise<Acted> {
  const tool = `${server}.${name}`;
  const span: EffectSpan = { step: run.key(`mcp:${server}:${name}`), kind: "mcp", name: tool };
  const toolCall = { span, effect, input, callId };
  await allowed(run, span, () => requireTool(run.task, tool), { toolCall });
  const questions = new Questions(run, span.step);
  const recallWithin = () => questions.recall();
  const attempt = (given: JsonValue) =>
    attemptCall(run, mcp, { server, name, effect, input: given, span, questions });
  const risk = effect === "irreversible" ? "high" : "medium";
  const retry = retryPolicy(
    {},
    { retries: retriesDefault, retryIf: (error) => mayBeRepeated(error, effect) },
  );
  return await actAs(run, {
    span,
    effect,
    risk,
    input,
    callId,
    attempt,
    retry,
    simulate: null,
    recallWithin,
  });
}

interface McpCall {
  server: string;
  name: string;
  effect: ToolEffect;
  input: JsonValue;
  span: EffectSpan;
  questions: Questions;
}

async function attemptCall(run: Run, mcp: McpAccess, call: McpCall): Promise<Attempted> {
  const { server, name, effect, input, span, questions } = call;
  try {
    return await mcp.call(server, name, asObject(input), {
      signal: run.signal,
      onElicitation: (asked) => questions.ask(asked),
      idempotencyKey: run.recording.idempotencyKey(span.step),
      trace: { ...run.traceOf(span.step) },
    });
  } catch (error) {
    if (run.signal.aborted) return await never();
    if (!(error instanceof McpError)) throw error;
    return failedWith(error, effect);
  }
}

/** The server may be back, and the call does no harm when it is made twice, or was not made. */
function mayBeRepeated(error: unknown, effect: ToolEffect): boolean {
  if (!(error instanceof McpError) || error.code !== "mcp_unavailable") return false;
  return effect === "none" || !error.isOutcomeUnknown;
}

function failedWith(thrown: McpError, effect: ToolEffect): Attempted {
  const { code, message, isOutcomeUnknown } = thrown;
  const isUnknown = isOutcomeUnknown && effect !== "none";
  const unknown = isUnknown ? " Whether it was carried out is not known." : "";
  return { error: { code: isUnknown ? "outcome_unknown" : code, message: message + unknown }, thrown };
}

function asObject(input: JsonValue): JsonObject {
  return typeof input === "object" && input !== null && !Array.isArray(input) ? input : {};
}

/** What the server asks in one call. */
class Questions {
  readonly #run: Run;
  readonly #step: string;
  /** What was answered in an earlier run, and not asked for again yet. */
  #earlier: { prompt: string; answer: JsonValue | undefined }[] = [];
  #asked = 0;

  constructor(run: Run, step: string) {
    this.#run = run;
    this.#step = step;
  }

  /** They are in the log before the end of the call; the code that is repeated comes past them here. */
  async recall(): Promise<void> {
    const keys = Array.from({ length: questionsMax }, (_, index) => this.#key(index + 1));
    for (const key of keys.filter((key) => this.#run.recording.journal.has(key))) {
      const before = await askedBefore(this.#run, key);
      if (before !== null) this.#earlier.push(before);
      this.#asked += 1;
    }
  }

  async ask({ message, schema }: Elicitation): Promise<ElicitationAnswer> {
    const prompt = this.#run.redactor.text(message);
    const known = this.#earlier.find((earlier) => earlier.prompt === prompt);
    this.#earlier = this.#earlier.filter((earlier) => earlier !== known);
    if (known !== undefined) return answerOf(known.answer);
    if (this.#asked >= questionsMax) return { action: "cancel" };
    this.#asked += 1;
    try {
      const key = this.#key(this.#asked);
      return answerOf(
        await this.#run.activity.whileWaiting(() => askPerson(this.#run, key, { prompt, schema }, undefined)),
      );
    } catch (error) {
      if (error instanceof WaitExpired) return { action: "cancel" };
      throw error;
    }
  }

  #key(n: number): string {
    return `ask:${this.#step}:${n}`;
  }
}

function answerOf(answer: JsonValue | undefined): ElicitationAnswer {
  if (answer === undefined) return { action: "cancel" };
  return { action: "accept", content: asObject(answer) };
}
