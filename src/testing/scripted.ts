/** Models that answer from a script, in order or by what they are asked, and remember what they were asked. */

import { isDeepStrictEqual } from "node:util";
import type { ModelMessage } from "../models/messages.ts";
import {
  type FinishReason,
  type ModelAnswer,
  type ModelCall,
  ModelError,
  type ModelSource,
  type ModelUsage,
  type ModelWatch,
  type Price,
} from "../models/model.ts";
import type { JsonValue } from "../store/port.ts";

/** What a model was asked, as it was asked. */
export interface ScriptedCall extends ModelCall {
  /** `provider/model` */
  model: string;
  /** The text of the last message. */
  prompt: string;
}

/** A text, or as much of an answer as matters; an error is thrown, a `ModelError` as it is. */
export type ScriptedAnswer =
  | string
  | Error
  | {
      /** Left out, it is what `deltas` or `object` make of it. */
      text?: string;
      toolCalls?: { id?: string; name: string; input: JsonValue }[];
      object?: JsonValue;
      /** What those who stream hear, piece by piece. */
      deltas?: string[];
      finishReason?: FinishReason;
      /** Estimated from the length of the texts when left out. */
      usage?: ModelUsage;
    };

type Answering = (call: ScriptedCall) => ScriptedAnswer | Promise<ScriptedAnswer>;

/** Answers in the order of the calls, or a function that answers each. */
export type ModelScript = readonly (ScriptedAnswer | Answering)[] | Answering;

export interface ScriptedModels extends ModelSource {
  /** What was asked since the script began, in order. */
  readonly calls: readonly ScriptedCall[];
  /** The first call that the script had no answer for. */
  readonly unanswered: ScriptedCall | null;
  /** Begins again with the first answer. */
  restart(): void;
  /** Begins again with what was asked before: each call gets the answer that it had then, whatever the order. */
  rewind(): void;
  /** The process died when so many answers were recorded: what was answered beyond is asked again, and answered as before. */
  resume(recorded: number): void;
}

const free: Price = { input: 0, output: 0 };
const charsPerToken = 4;
const shownCharsMax = 200;

export function scripted(script: ModelScript, { price = free }: { price?: Price } = {}): ScriptedModels {
  const calls: ScriptedCall[] = [];
  let unanswered: ScriptedCall | null = null;
  // Places in the script: of the calls of this time, of those that may be made once more, and of those of the time before.
  let given: number[] = [];
  let again = new Set<number>();
  let before = new Set<number>();

  function placeOf(call: ScriptedCall): number {
    const isSame = (index: number) => isDeepStrictEqual(calls[index], call);
    const place = [...again, ...before].find(isSame) ?? [...before][0] ?? calls.push(call) - 1;
    again.delete(place);
    before.delete(place);
    given.push(place);
    return place;
  }

  function rewind(): void {
    unanswered = null;
    given = [];
    again = new Set();
    before = new Set(calls.keys());
  }

  async function next(call: ScriptedCall): Promise<ScriptedAnswer> {
    const index = placeOf(call);
    if (typeof script === "function") return await script(call);
    const answer = script[index];
    if (answer !== undefined) return typeof answer === "function" ? await answer(call) : answer;
    unanswered ??= call;
    throw new ModelError("model_refused", notInScript(call, script.length));
  }

  return {
    defaultModel: "scripted/model",
    calls,
    get unanswered() {
      return unanswered;
    },
    restart() {
      calls.length = 0;
      rewind();
    },
    rewind,
    resume(recorded) {
      // Which of them were recorded is not known here; those are not asked again.
      again = new Set(given.length > recorded ? given : []);
    },
    open(name) {
      const [provider = name, ...rest] = name.split("/");
      const model = rest.join("/");
      return {
        provider,
        model,
        price,
        async call(call, watch) {
          watch.signal.throwIfAborted();
          const asked = { ...structuredClone(call), model: name, prompt: promptOf(call.messages) };
          const answer = await next(asked);
          watch.signal.throwIfAborted();
          return answerOf(answer, asked, watch);
        },
      };
    },
  };
}

function notInScript({ model, prompt }: ScriptedCall, answers: number): string {
  const count = answers === 1 ? "1 answer" : `${answers} answers`;
  const shown = prompt.length > shownCharsMax ? `${prompt.slice(0, shownCharsMax)}…` : prompt;
  return `The script of the models has ${count}, and ${model} was asked once more: ${JSON.stringify(shown)}.`;
}

function answerOf(given: ScriptedAnswer, call: ScriptedCall, { onDelta }: ModelWatch): ModelAnswer {
  if (given instanceof ModelError) throw given;
  if (given instanceof Error) throw new ModelError("model_unavailable", given.message, { cause: given });
  const answer = typeof given === "string" ? { text: given } : given;
  const { deltas, object, toolCalls = [], usage } = answer;
  const text = answer.text ?? deltas?.join("") ?? (object === undefined ? "" : JSON.stringify(object));
  if (onDelta !== undefined)
    for (const delta of deltas ?? (text === "" ? [] : [text])) onDelta({ type: "text", text: delta });
  const requests = toolCalls.map(({ id, name, input }, n) => ({ id: id ?? `call_${n + 1}`, name, input }));
  return {
    text,
    toolCalls: requests,
    object: object ?? (call.output === undefined ? null : jsonIn(text)),
    finishReason: answer.finishReason ?? (requests.length > 0 ? "tool-calls" : "stop"),
    usage: usage ?? estimated(call, text),
    message: messageOf(text, requests),
    servedBy: null,
  };
}

function messageOf(text: string, requests: ModelAnswer["toolCalls"]): ModelMessage {
  if (requests.length === 0) return { role: "assistant", content: text };
  return {
    role: "assistant",
    content: [
      ...(text === "" ? [] : [{ type: "text" as const, text }]),
      ...requests.map(({ id, name, input }) => ({
        type: "tool-call" as const,
        toolCallId: id,
        toolName: name,
        input,
      })),
    ],
  };
}

function jsonIn(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function estimated({ messages }: ScriptedCall, text: string): ModelUsage {
  const tokens = (chars: number) => Math.ceil(chars / charsPerToken);
  const inputTokens = tokens(JSON.stringify(messages).length);
  return { inputTokens, outputTokens: tokens(text.length), isEstimated: true };
}

function promptOf(messages: readonly ModelMessage[]): string {
  const { content = "" } = messages.at(-1) ?? {};
  if (typeof content === "string") return content;
  return content
    .map((part) => {
      if (part.type === "text" || part.type === "reasoning") return part.text;
      return part.type === "tool-result" ? JSON.stringify(part.output) : "";
    })
    .join("");
}
