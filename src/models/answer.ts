/** What the SDK gives, as what the runtime sees: plain JSON that can be recorded. */

import type { LanguageModelUsage, StepResult, ToolSet } from "ai";
import type { JsonObject, JsonValue } from "../store/port.ts";
import { tokensOfCall, tokensOfContent } from "./estimate.ts";
import type {
  ModelMessage,
  ProviderOptions,
  ReasoningContent,
  TextContent,
  ToolCallContent,
} from "./messages.ts";
import type { FinishReason, ModelAnswer, ModelCall, ModelUsage } from "./model.ts";
import type { ProviderKind } from "./settings.ts";

/** A stream that ended without saying that it was complete. */
export class CutOff extends Error {
  override name = "CutOff";
}

export function answerOf(
  step: StepResult<ToolSet>,
  { object, call, kind }: { object: JsonValue; call: ModelCall; kind: ProviderKind },
): ModelAnswer {
  const message = messageOf(step);
  return {
    text: step.text,
    toolCalls: step.toolCalls.map(({ toolCallId, toolName, input }) => ({
      id: toolCallId,
      name: toolName,
      input: json(input),
    })),
    object,
    finishReason: finishReasonOf(step),
    usage: usageOf(step.usage, call, tokensOfContent(message.content)),
    message,
    // Google says which one it was, but the SDK does not pass it on and gives the name that was asked for.
    servedBy: kind === "google" ? null : step.response.modelId,
  };
}

function finishReasonOf({ finishReason }: StepResult<ToolSet>): FinishReason {
  if (finishReason === "interrupted") throw new CutOff();
  return finishReason;
}

type Said = TextContent | ReasoningContent | ToolCallContent;

function messageOf({ response }: StepResult<ToolSet>): ModelMessage {
  const said = response.messages.find((message) => message.role === "assistant")?.content ?? [];
  if (typeof said === "string") return { role: "assistant", content: said };
  return { role: "assistant", content: said.flatMap((part) => contentOf(part)) };
}

/** Only what a conversation can go on with; sources and generated files are not part of it. */
function contentOf(part: { type: string } & Partial<SdkPart>): Said[] {
  const kept = part.providerOptions === undefined ? {} : { providerOptions: optionsOf(part.providerOptions) };
  switch (part.type) {
    case "text":
    case "reasoning":
      return [{ type: part.type, text: part.text ?? "", ...kept }];
    case "tool-call": {
      const { toolCallId = "", toolName = "", input } = part;
      return [{ type: "tool-call", toolCallId, toolName, input: json(input), ...kept }];
    }
    default:
      return [];
  }
}

interface SdkPart {
  text: string;
  toolCallId: string;
  toolName: string;
  input: unknown;
  providerOptions: unknown;
}

// Both come out of JSON that a provider sent; going through it again leaves out what is undefined.
function json(value: unknown): JsonValue {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as JsonValue);
}

function optionsOf(options: unknown): ProviderOptions {
  return json(options) as { [provider: string]: JsonObject };
}

/** A call always has input; a provider that says otherwise has not counted, and then it is estimated. */
export function usageOf(usage: LanguageModelUsage | null, call: ModelCall, saidTokens: number): ModelUsage {
  const { inputTokens = 0, outputTokens, inputTokenDetails, outputTokenDetails } = usage ?? {};
  const isCounted = inputTokens > 0 && outputTokens !== undefined;
  return {
    inputTokens: inputTokens || tokensOfCall(call),
    outputTokens: isCounted ? outputTokens : outputTokens || saidTokens,
    ...count("cachedInputTokens", inputTokenDetails?.cacheReadTokens),
    ...count("cacheWriteTokens", inputTokenDetails?.cacheWriteTokens),
    ...count("reasoningTokens", outputTokenDetails?.reasoningTokens),
    ...(!isCounted && { isEstimated: true as const }),
  };
}

function count<Name extends string>(name: Name, tokens: number | undefined): { [name in Name]?: number } {
  return tokens === undefined || tokens === 0 ? {} : ({ [name]: tokens } as { [name in Name]?: number });
}
