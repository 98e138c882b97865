/** Models and tools as an agent sees them: the types that authors write against. */

import type { ModelMessage } from "../../models/messages.ts";
import type { FinishReason } from "../../models/model.ts";
import type { Schema, ValueOf } from "../../tools/schema.ts";
import type { ContextTool, ToolDefinition } from "../../tools/tool.ts";
import type { AgentContext } from "./agent.ts";

/** A tool for the model: a definition, or the name of one that the agent, the server or an MCP server (`server.tool`) has. */
export type ToolChoice = ToolDefinition | ContextTool<AgentContext> | string;

interface ModelRequestFields {
  /** Names the step: `llm:<label>:<n>`. `model` unless said. */
  label?: string;
  /** `provider/model`, or several to be tried in this order; the persona's, then the server's, unless said. */
  model?: string | readonly string[];
  /** What the model is told to be. */
  system?: string;
  /** Tools that the model may call. They are called, and it is told what they gave, until it asks for no more. */
  tools?: readonly ToolChoice[];
  /** How many times the model may be called for this request; 10 unless said. The last time without tools. */
  maxSteps?: number;
  /** The most tokens of each answer. */
  maxTokens?: number;
  temperature?: number;
  topP?: number;
  stopSequences?: readonly string[];
  seed?: number;
}

/** What is said to the model: one text, or a conversation. */
type Said = { prompt: string; messages?: never } | { prompt?: never; messages: readonly ModelMessage[] };

export type ModelRequest = ModelRequestFields & Said & { output?: never };
/** The same for an answer that is JSON of a schema. */
export type StructuredRequest<S extends Schema> = ModelRequestFields & Said & { output: S };

export interface ModelReply {
  text: string;
  finishReason: FinishReason;
  /** Of all calls together. `usd` is null when nobody said what the model costs. */
  usage: { inputTokens: number; outputTokens: number; usd: number | null };
  /** The one that gave the last answer, as `provider/model`. */
  model: string;
  /** The whole conversation, with what the model said and what tools gave: what to send to go on with it. */
  messages: ModelMessage[];
}

export type StructuredReply<S extends Schema> = ModelReply & { object: ValueOf<S> };

export interface StreamOptions {
  /** Hears the text as it comes, like the code of a step: not when the answer comes from the log. */
  onText?: (text: string) => void;
  /** `public` shows the text to whoever watches the task, as it comes; others see it only with the right to. */
  visibility?: "public" | "internal";
}

/** Each call of a model is a step that is recorded with its answer: it is never paid for twice once that is on disk. */
export interface AgentModel {
  generate(request: ModelRequest): Promise<ModelReply>;
  generate<S extends Schema>(request: StructuredRequest<S>): Promise<StructuredReply<S>>;
  /** The same, told piece by piece while the model speaks. */
  stream(request: ModelRequest, options?: StreamOptions): Promise<ModelReply>;
  stream<S extends Schema>(
    request: StructuredRequest<S>,
    options?: StreamOptions,
  ): Promise<StructuredReply<S>>;
}

/** Who the agent is in this task, as its persona says. */
export interface AgentPersona {
  readonly id: string;
  readonly version: string;
  /** `model_policy.instructions`; empty when there are none. */
  readonly instructions: string;
  /** The models that it may use, first the one that it should; empty leaves it to the server. */
  readonly models: readonly string[];
  /** Tools that it may use by name; null is all of the agent's own and the server's. */
  readonly tools: readonly string[] | null;
  /** Whom it may hand work to; null is anybody. */
  readonly handoffs: readonly string[] | null;
  readonly maxSteps: number | null;
  /** Texts that it is given: `ctx.context(name)`. */
  readonly contextPacks: readonly string[];
}

/** A tool that can be used now. */
export interface AvailableTool {
  name: string;
  description: string;
}
