/** What the record of a model call holds of the answer, and what is made of it for the agent. */

import type { ModelMessage, ReasoningContent, ToolCallContent } from "../../models/messages.ts";
import type { FinishReason, ModelAnswer } from "../../models/model.ts";
import type { Redactor } from "../../policy/redact/redact.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";

/** The output of an `llm` step. */
export type RecordedAnswer = {
  message: ModelMessage;
  /** Of a call for JSON. */
  object?: JsonValue;
  finish_reason: FinishReason;
  usage: { input_tokens: number; output_tokens: number; usd: number | null };
  /** `provider/model` */
  model: string;
  /** The budget ended it. */
  is_cut?: true;
  /** Of an answer that the budget ended: for how many tokens there was room. */
  room?: number;
};

export function recordOf(
  { message, object, finishReason, usage }: ModelAnswer,
  model: string,
  usd: number | null,
): RecordedAnswer {
  const { inputTokens, outputTokens } = usage;
  return {
    message: withoutThoughts(message),
    ...(object === null ? {} : { object }),
    finish_reason: finishReason,
    usage: { input_tokens: inputTokens, output_tokens: outputTokens, usd },
    model,
  };
}

/**
 * Thoughts are not written down (see `Redactor`), and a provider refuses one that was changed. Where it has sealed them they go back to
 * it without their text; else they do not.
 */
function withoutThoughts(message: ModelMessage): ModelMessage {
  if (message.role !== "assistant" || typeof message.content === "string") return message;
  const content = message.content
    .filter((part) => part.type !== "reasoning" || isSealed(part))
    .map((part) => (part.type === "reasoning" ? { ...part, text: "" } : part));
  return { ...message, content };
}

/** What was cut off may end in the middle of a secret. */
export function withoutHalfSecret(answer: ModelAnswer, redactor: Redactor): ModelAnswer {
  const { message, finishReason } = answer;
  if (finishReason !== "length" || message.role !== "assistant") return answer;
  const cut = (text: string) => {
    const redacted = redactor.text(text);
    return redacted.slice(0, redacted.length - redactor.openEnd(redacted));
  };
  const { content } = message;
  if (typeof content === "string") return { ...answer, message: { ...message, content: cut(content) } };
  const parts = content.map((part, index) =>
    part.type === "text" && index === content.length - 1 ? { ...part, text: cut(part.text) } : part,
  );
  return { ...answer, message: { ...message, content: parts } };
}

function isSealed({ providerOptions = {} }: ReasoningContent): boolean {
  return Object.values(providerOptions).some(
    (options) => "reasoningEncryptedContent" in options || "redactedData" in options,
  );
}

/** What the log has, or what a replay was given in its place: a text stands for an answer that says it. */
export function answerIn(output: JsonValue): RecordedAnswer {
  if (isRecord(output)) return output;
  const text = typeof output === "string" ? output : JSON.stringify(output);
  const object = typeof output === "string" ? parsed(output) : output;
  return {
    message: { role: "assistant", content: text },
    ...(object === undefined ? {} : { object }),
    finish_reason: "stop",
    usage: { input_tokens: 0, output_tokens: 0, usd: 0 },
    model: "override/override",
  };
}

function isRecord(output: JsonValue): output is RecordedAnswer & JsonObject {
  return (
    typeof output === "object" &&
    output !== null &&
    !Array.isArray(output) &&
    "message" in output &&
    "finish_reason" in output &&
    "usage" in output
  );
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function textIn({ content }: ModelMessage): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

export function toolCallsIn({ role, content }: ModelMessage): ToolCallContent[] {
  if (role !== "assistant" || typeof content === "string") return [];
  return content.filter((part) => part.type === "tool-call");
}
