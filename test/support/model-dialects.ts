/** How providers answer on the wire: whole, and in pieces. What is asked of a model is the same for all of them. */

import type { JsonObject, JsonValue } from "../../src/store/port.ts";

export interface ScriptedAnswer {
  text?: string;
  /** The text in the pieces in which it is streamed; in two of them when left out. */
  chunks?: readonly string[];
  /** `input` as a string is sent as it is: a model can get its JSON wrong. */
  toolCalls?: readonly { id?: string; name: string; input: JsonValue }[];
  reasoning?: string;
  finish?: "length" | "content-filter";
  /** Null says nothing about it. */
  usage?: { input: number; output: number; cached?: number; cacheWrite?: number; reasoning?: number } | null;
  /** The model that says it answered, if not the one that was asked. */
  model?: string;
}

export interface Frame {
  event?: string;
  data: JsonValue;
}

/** What a streamed answer consists of: only what is in `chunks` is counted, held and delayed. */
export interface Frames {
  head: Frame[];
  chunks: Frame[];
  tail: Frame[];
}

export interface Dialect {
  plain(answer: Told): JsonValue;
  stream(answer: Told): Frames;
  error(status: number, message: string): JsonValue;
  /** An error in the middle of a stream. */
  overloaded: Frame;
}

/** An answer with nothing left open. */
export type Told = Required<Omit<ScriptedAnswer, "finish" | "toolCalls">> & {
  finish: "stop" | "tool-calls" | "length" | "content-filter";
  toolCalls: { id: string; name: string; input: string }[];
};

export function told(answer: ScriptedAnswer, model: string): Told {
  const chunks = answer.chunks ?? halves(answer.text ?? "");
  const toolCalls = (answer.toolCalls ?? []).map(({ id, name, input }, index) => ({
    id: id ?? `call_${index + 1}`,
    name,
    input: typeof input === "string" ? input : JSON.stringify(input),
  }));
  return {
    text: chunks.join(""),
    chunks,
    toolCalls,
    reasoning: answer.reasoning ?? "",
    finish: answer.finish ?? (toolCalls.length > 0 ? "tool-calls" : "stop"),
    usage: answer.usage === undefined ? { input: 10, output: 5 } : answer.usage,
    model: answer.model ?? model,
  };
}

function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== "");
}

const chatFinish = {
  stop: "stop",
  "tool-calls": "tool_calls",
  length: "length",
  "content-filter": "content_filter",
} as const;

function chatUsage({ usage }: Told): JsonObject {
  if (usage === null) return {};
  return {
    usage: {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.output,
      prompt_tokens_details: { cached_tokens: usage.cached ?? 0 },
      completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    },
  };
}

/** OpenAI chat completions, as other servers speak them, too. */
export const chat: Dialect = {
  plain: (answer) => ({
    id: "chatcmpl_1",
    object: "chat.completion",
    created: 1,
    model: answer.model,
    choices: [
      {
        index: 0,
        finish_reason: chatFinish[answer.finish],
        message: {
          role: "assistant",
          content: answer.text,
          ...(answer.reasoning !== "" && { reasoning_content: answer.reasoning }),
          tool_calls: answer.toolCalls.map(({ id, name, input }) => ({
            id,
            type: "function",
            function: { name, arguments: input },
          })),
        },
      },
    ],
    ...chatUsage(answer),
  }),
  stream(answer) {
    const frame = (delta: JsonObject, finish: string | null = null): Frame => ({
      data: {
        id: "chatcmpl_1",
        object: "chat.completion.chunk",
        created: 1,
        model: answer.model,
        choices: [{ index: 0, delta, finish_reason: finish }],
      },
    });
    const usage = chatUsage(answer);
    return {
      head: [
        frame({ role: "assistant" }),
        ...(answer.reasoning === "" ? [] : [frame({ reasoning_content: answer.reasoning })]),
      ],
      chunks: answer.chunks.map((content) => frame({ content })),
      tail: [
        ...answer.toolCalls.flatMap(({ id, name, input }, index) => [
          frame({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
          frame({ tool_calls: [{ index, function: { arguments: input } }] }),
        ]),
        frame({}, chatFinish[answer.finish]),
        { data: { id: "chatcmpl_1", created: 1, model: answer.model, choices: [], ...usage } },
        { data: "[DONE]" },
      ],
    };
  },
  error: (status, message) => ({ error: { message, type: "error", code: String(status) } }),
  overloaded: { data: { error: { message: "Overloaded", type: "server_error", code: 503 } } },
};

function anthropicUsage({ usage }: Told): JsonObject {
  const { input, output, cached = 0, cacheWrite = 0 } = usage ?? { input: 0, output: 0 };
  return {
    input_tokens: input - cached - cacheWrite,
    output_tokens: output,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: cacheWrite,
  };
}

const anthropicStop = {
  stop: "end_turn",
  "tool-calls": "tool_use",
  length: "max_tokens",
  "content-filter": "refusal",
} as const;

/** Thoughts come with a signature, without which they are not taken back. */
export const thoughtSignature = "signature-of-the-thought==";

export const anthropic: Dialect = {
  plain: (answer) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: answer.model,
    content: [
      ...(answer.reasoning === ""
        ? []
        : [{ type: "thinking", thinking: answer.reasoning, signature: thoughtSignature }]),
      ...(answer.text === "" ? [] : [{ type: "text", text: answer.text }]),
      ...answer.toolCalls.map(({ id, name, input }) => ({
        type: "tool_use",
        id,
        name,
        input: JSON.parse(input) as JsonValue,
      })),
    ],
    stop_reason: anthropicStop[answer.finish],
    stop_sequence: null,
    usage: anthropicUsage(answer),
  }),
  stream(answer) {
    const frame = (data: JsonObject & { type: string }): Frame => ({ event: data.type, data });
    let index = -1;
    const open = (block: JsonObject) =>
      frame({ type: "content_block_start", index: ++index, content_block: block });
    const delta = (piece: JsonObject) => frame({ type: "content_block_delta", index, delta: piece });
    const close = () => frame({ type: "content_block_stop", index });
    const usage = anthropicUsage(answer);
    return {
      head: [
        frame({
          type: "message_start",
          message: {
            id: "msg_1",
            type: "message",
            role: "assistant",
            model: answer.model,
            content: [],
            stop_reason: null,
            usage: { ...usage, output_tokens: 1 },
          },
        }),
        ...(answer.reasoning === ""
          ? []
          : [
              open({ type: "thinking", thinking: "" }),
              delta({ type: "thinking_delta", thinking: answer.reasoning }),
              delta({ type: "signature_delta", signature: thoughtSignature }),
              close(),
            ]),
        ...(answer.chunks.length === 0 ? [] : [open({ type: "text", text: "" })]),
      ],
      chunks: answer.chunks.map((text) => delta({ type: "text_delta", text })),
      tail: [
        ...(answer.chunks.length === 0 ? [] : [close()]),
        ...answer.toolCalls.flatMap(({ id, name, input }) => [
          open({ type: "tool_use", id, name, input: {} }),
          delta({ type: "input_json_delta", partial_json: input }),
          close(),
        ]),
        frame({
          type: "message_delta",
          delta: { stop_reason: anthropicStop[answer.finish], stop_sequence: null },
          usage,
        }),
        frame({ type: "message_stop" }),
      ],
    };
  },
  error: (_, message) => ({ type: "error", error: { type: "error", message } }),
  overloaded: {
    event: "error",
    data: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
  },
};

function googleParts(answer: Told): JsonObject[] {
  return answer.toolCalls.map(({ name, input }) => ({
    functionCall: { name, args: JSON.parse(input) as JsonValue },
    thoughtSignature,
  }));
}

function googleUsage({ usage }: Told): JsonObject {
  if (usage === null) return {};
  const { input, output, cached = 0, reasoning = 0 } = usage;
  return {
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: output - reasoning,
      thoughtsTokenCount: reasoning,
      cachedContentTokenCount: cached,
      totalTokenCount: input + output,
    },
  };
}

const googleFinish = {
  stop: "STOP",
  "tool-calls": "STOP",
  length: "MAX_TOKENS",
  "content-filter": "SAFETY",
} as const;

export const google: Dialect = {
  plain: (answer) => ({
    responseId: "response_1",
    modelVersion: answer.model,
    candidates: [
      {
        content: {
          role: "model",
          parts: [
            ...(answer.reasoning === "" ? [] : [{ text: answer.reasoning, thought: true }]),
            ...(answer.text === "" ? [] : [{ text: answer.text }]),
            ...googleParts(answer),
          ],
        },
        finishReason: googleFinish[answer.finish],
      },
    ],
    ...googleUsage(answer),
  }),
  stream(answer) {
    const frame = (parts: JsonObject[], more: JsonObject = {}): Frame => ({
      data: { candidates: [{ content: { role: "model", parts }, ...more }], modelVersion: answer.model },
    });
    const last = frame(googleParts(answer), { finishReason: googleFinish[answer.finish] });
    return {
      head: answer.reasoning === "" ? [] : [frame([{ text: answer.reasoning, thought: true }])],
      chunks: answer.chunks.map((text) => frame([{ text }])),
      tail: [{ data: { ...(last.data as JsonObject), ...googleUsage(answer) } }],
    };
  },
  error: (status, message) => ({ error: { code: status, message, status: "ERROR" } }),
  overloaded: { data: { error: { code: 503, message: "Overloaded", status: "UNAVAILABLE" } } },
};
