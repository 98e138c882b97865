/**
 * An override of a model call, in whatever form it is given: a text, the response of a provider as its API gives it, or the form in
 * which the log has answers. It becomes the latter.
 */

import type { JsonObject, JsonValue } from "../../store/port.ts";
import { asObject } from "./substitute.ts";

export const acceptedAnswers =
  "a text, a response of OpenAI (`choices` or `output`), Anthropic (`content`) or Google (`candidates`), or an answer as the log has it (`message`, `finish_reason`, `usage`)";

interface Answer {
  text: string;
  calls: { id: string; name: string; input: JsonValue }[];
  finishReason: string;
  inputTokens: JsonValue | undefined;
  outputTokens: JsonValue | undefined;
}

/** The answer as the log would have it; null for a value that is none. A text is left as it is. */
export function modelAnswerOf(value: JsonValue): JsonValue | null {
  if (typeof value === "string") return value;
  const given = asObject(value);
  if ("message" in given && "finish_reason" in given && "usage" in given) return value;
  const answer =
    chatCompletion(given) ?? openAiResponse(given) ?? anthropicMessage(given) ?? geminiAnswer(given);
  return answer === null ? null : recordOf(answer, given.model ?? given.modelVersion);
}

function recordOf({ text, calls, finishReason, ...usage }: Answer, model: JsonValue | undefined): JsonObject {
  const said = text === "" ? [] : [{ type: "text", text }];
  const called = calls.map(({ id, name, input }) => ({
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    input,
  }));
  return {
    message: { role: "assistant", content: calls.length === 0 ? text : [...said, ...called] },
    finish_reason: calls.length > 0 ? "tool-calls" : finishReason,
    usage: { input_tokens: count(usage.inputTokens), output_tokens: count(usage.outputTokens), usd: 0 },
    model: `override/${typeof model === "string" ? model : "override"}`,
  };
}

function chatCompletion({ choices, usage }: JsonObject): Answer | null {
  const choice = asObject(listOf(choices)[0] ?? null);
  if (!isObject(choice.message)) return null;
  const { content, tool_calls } = choice.message;
  const used = asObject(usage ?? null);
  return {
    text: textOf(content ?? null),
    calls: listOf(tool_calls).map((call) => {
      const { id, function: called } = asObject(call);
      const { name, arguments: input } = asObject(called ?? null);
      return callOf(id, name, argumentsOf(input));
    }),
    finishReason: reasonOf(choice.finish_reason),
    inputTokens: used.prompt_tokens,
    outputTokens: used.completion_tokens,
  };
}

function openAiResponse({ output, usage, status }: JsonObject): Answer | null {
  if (!Array.isArray(output)) return null;
  const items = output.map(asObject);
  const used = asObject(usage ?? null);
  return {
    text: items.flatMap(({ type, content }) => (type === "message" ? textOf(content ?? null) : [])).join(""),
    calls: items
      .filter(({ type }) => type === "function_call")
      .map(({ call_id, name, arguments: input }) => callOf(call_id, name, argumentsOf(input))),
    finishReason: status === "incomplete" ? "length" : "stop",
    inputTokens: used.input_tokens,
    outputTokens: used.output_tokens,
  };
}

function anthropicMessage({ content, usage, stop_reason }: JsonObject): Answer | null {
  if (!Array.isArray(content)) return null;
  const used = asObject(usage ?? null);
  return {
    text: textOf(content),
    calls: content
      .map(asObject)
      .filter(({ type }) => type === "tool_use")
      .map(({ id, name, input }) => callOf(id, name, input)),
    finishReason: reasonOf(stop_reason),
    inputTokens: used.input_tokens,
    outputTokens: used.output_tokens,
  };
}

function geminiAnswer({ candidates, usageMetadata }: JsonObject): Answer | null {
  const candidate = asObject(listOf(candidates)[0] ?? null);
  if (!isObject(candidate.content)) return null;
  const parts = listOf(candidate.content.parts);
  const used = asObject(usageMetadata ?? null);
  return {
    text: textOf(parts),
    calls: parts.map(asObject).flatMap(({ functionCall }, index) => {
      const { id, name, args } = asObject(functionCall ?? null);
      return functionCall === undefined ? [] : [callOf(id ?? `call_${index + 1}`, name, args)];
    }),
    finishReason: reasonOf(candidate.finishReason),
    inputTokens: used.promptTokenCount,
    outputTokens: used.candidatesTokenCount,
  };
}

/** The texts among parts of any provider; thoughts are none. */
function textOf(content: JsonValue): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map(asObject)
    .filter(({ type, thought }) => thought !== true && (type === undefined || isTextType(type)))
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("");
}

function isTextType(type: JsonValue): boolean {
  return type === "text" || type === "output_text";
}

function callOf(id: JsonValue | undefined, name: JsonValue | undefined, input: JsonValue | undefined) {
  return { id: String(id ?? ""), name: String(name ?? ""), input: input ?? {} };
}

function argumentsOf(text: JsonValue | undefined): JsonValue {
  if (typeof text !== "string") return text ?? {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const tooLong: ReadonlySet<unknown> = new Set(["length", "max_tokens", "MAX_TOKENS"]);

function reasonOf(reason: JsonValue | undefined): string {
  return tooLong.has(reason) ? "length" : "stop";
}

function count(tokens: JsonValue | undefined): number {
  return typeof tokens === "number" && tokens >= 0 ? Math.floor(tokens) : 0;
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
