/**
 * What is said to a model and by it: plain JSON, of the shape that the AI SDK takes, so that it can be kept in the log and given
 * to any provider later.
 */

import type { JsonObject, JsonValue } from "../store/port.ts";

/** What only one provider understands and wants to see again, by its name: signatures of thoughts, cache marks. */
export type ProviderOptions = { [provider: string]: JsonObject };

export type TextContent = { type: "text"; text: string; providerOptions?: ProviderOptions };
export type ReasoningContent = { type: "reasoning"; text: string; providerOptions?: ProviderOptions };
/** `data` is base64. */
export type FileContent = {
  type: "file";
  data: { type: "data"; data: string };
  mediaType: string;
  filename?: string;
};
export type ToolCallContent = {
  type: "tool-call";
  toolCallId: string;
  toolName: string;
  input: JsonValue;
  providerOptions?: ProviderOptions;
};
export type ToolOutput =
  | { type: "text"; value: string }
  | { type: "json"; value: JsonValue }
  | { type: "error-text"; value: string }
  | { type: "execution-denied"; reason?: string };
export type ToolResultContent = {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: ToolOutput;
};

export type ModelMessage =
  | { role: "system"; content: string }
  | { role: "user"; content: string | (TextContent | FileContent)[] }
  | { role: "assistant"; content: string | (TextContent | ReasoningContent | ToolCallContent)[] }
  | { role: "tool"; content: ToolResultContent[] };
