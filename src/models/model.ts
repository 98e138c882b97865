/** A model as the runtime sees it: one call, tried once. Who calls it decides what is recorded, repeated and paid for. */

import type { JsonObject, JsonValue } from "../store/port.ts";
import type { ModelMessage } from "./messages.ts";

/** A tool that the model may ask for. It is never run here. */
export interface OfferedTool {
  /** Letters, digits, underscores and dashes, at most 64: what every provider takes. */
  name: string;
  description: string;
  /** JSON Schema of an object. */
  input: JsonObject;
}

export interface ModelCall {
  messages: readonly ModelMessage[];
  tools?: readonly OfferedTool[];
  toolChoice?: "auto" | "none" | "required";
  /** The answer is to be JSON of this schema. */
  output?: JsonObject;
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  stopSequences?: readonly string[];
  seed?: number;
}

/** As the provider counted; estimated where it did not, which `isEstimated` says. */
export interface ModelUsage {
  /** All of the input, with what came from a cache. */
  inputTokens: number;
  /** All of the output, thoughts included. */
  outputTokens: number;
  cachedInputTokens?: number;
  cacheWriteTokens?: number;
  reasoningTokens?: number;
  isEstimated?: true;
}

export interface ToolRequest {
  id: string;
  name: string;
  input: JsonValue;
}

export type FinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";

export interface ModelAnswer {
  text: string;
  toolCalls: ToolRequest[];
  /** Of a call with an `output` schema: the JSON that the model gave, not checked yet; null when it gave none. */
  object: JsonValue;
  finishReason: FinishReason;
  usage: ModelUsage;
  /** What the model said, to be sent along with the next call of the conversation. */
  message: ModelMessage;
  /** The exact model that answered, where the provider says so. */
  servedBy: string | null;
}

export interface ModelDelta {
  type: "text" | "reasoning";
  text: string;
}

export interface ModelWatch {
  signal: AbortSignal;
  /** Given, the answer is streamed, and this hears its pieces as they come. */
  onDelta?: (delta: ModelDelta) => void;
  /** Sent with the request: the trace that it is part of. */
  headers?: Readonly<Record<string, string>>;
}

/** US dollars for a million tokens. */
export interface Price {
  input: number;
  output: number;
  /** Input from a cache, and what is written to one; the price of input when left out. */
  cachedInput?: number;
  cacheWrite?: number;
}

export interface OpenModel {
  /** `anthropic` of `anthropic/claude-…` */
  provider: string;
  model: string;
  /** Null when nobody said what it costs. */
  price: Price | null;
  /** One attempt. Throws `ModelError`; when the signal is aborted, its reason. */
  call(call: ModelCall, watch: ModelWatch): Promise<ModelAnswer>;
}

/** Where models come from: providers over the network, or a script in a test. */
export interface ModelSource {
  /** The model of those who name none; null when there is none. */
  readonly defaultModel: string | null;
  /** Takes `provider/model`. Throws `ModelError` with what to set when it cannot be used. */
  open(name: string): OpenModel;
}

export type ModelErrorCode =
  /** The provider is not known or not configured; the message says what to set. */
  | "model_not_configured"
  /** The request is wrong: it will be refused whenever it is sent. */
  | "model_refused"
  /** The key is missing, wrong or not allowed to. */
  | "model_unauthorized"
  | "model_rate_limited"
  /** The provider failed, or cannot be reached, or the connection was cut. */
  | "model_unavailable"
  /** What the provider sent cannot be understood. */
  | "model_malformed"
  | "model_timeout";

/** The message names provider and model and never holds a key, a header or the prompt. */
export class ModelError extends Error {
  override name = "ModelError";
  readonly code: ModelErrorCode;
  /** Whether the same call may succeed later. */
  readonly isPassing: boolean;
  /** How long the provider asks to be left alone. */
  readonly retryAfterMs: number | null;
  /** What had been used when it broke off, if anything is known to have been. */
  readonly usage: ModelUsage | null;

  constructor(
    code: ModelErrorCode,
    message: string,
    {
      isPassing = false,
      retryAfterMs = null,
      usage = null,
      cause,
    }: { isPassing?: boolean; retryAfterMs?: number | null; usage?: ModelUsage | null; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.isPassing = isPassing;
    this.retryAfterMs = retryAfterMs;
    this.usage = usage;
  }
}
