/** OpenAI's responses API on the wire. */

import type { JsonObject } from "../../src/store/port.ts";
import type { Dialect, Frame, Told } from "./model-dialects.ts";

/** What a model thought, for OpenAI's eyes only. */
export const encryptedThought = "encrypted-thought==";

function usageOf({ usage }: Told): JsonObject {
  if (usage === null) return {};
  return {
    usage: {
      input_tokens: usage.input,
      output_tokens: usage.output,
      total_tokens: usage.input + usage.output,
      input_tokens_details: { cached_tokens: usage.cached ?? 0 },
      output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    },
  };
}

function endOf(answer: Told): JsonObject {
  const reason = { length: "max_output_tokens", "content-filter": "content_filter" } as const;
  const incomplete =
    answer.finish === "length" || answer.finish === "content-filter" ? reason[answer.finish] : null;
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: answer.model,
    status: incomplete === null ? "completed" : "incomplete",
    incomplete_details: incomplete === null ? null : { reason: incomplete },
    ...usageOf(answer),
  };
}

function thought(text: string): JsonObject {
  return {
    type: "reasoning",
    id: "rs_1",
    encrypted_content: encryptedThought,
    summary: [{ type: "summary_text", text }],
  };
}

function message(text: string): JsonObject {
  return {
    type: "message",
    id: "msg_1",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }],
  };
}

function functionCall({ id, name, input }: Told["toolCalls"][number], status = "completed"): JsonObject {
  return { type: "function_call", id: `fc_${id}`, call_id: id, name, arguments: input, status };
}

export const responses: Dialect = {
  plain: (answer) => ({
    ...endOf(answer),
    output: [
      ...(answer.reasoning === "" ? [] : [thought(answer.reasoning)]),
      ...(answer.text === "" ? [] : [message(answer.text)]),
      ...answer.toolCalls.map((call) => functionCall(call)),
    ],
  }),
  stream(answer) {
    let sequence = 0;
    let index = -1;
    const frame = (type: string, data: JsonObject): Frame => ({
      event: type,
      data: { type, sequence_number: sequence++, ...data },
    });
    const added = (item: JsonObject) => frame("response.output_item.added", { output_index: ++index, item });
    const done = (item: JsonObject) => frame("response.output_item.done", { output_index: index, item });
    const summary = (type: string, data: JsonObject = {}) =>
      frame(`response.reasoning_summary_${type}`, {
        item_id: "rs_1",
        output_index: index,
        summary_index: 0,
        ...data,
      });
    const { id, created_at, model } = endOf(answer);
    const head = [frame("response.created", { response: { id, created_at, model } as JsonObject })];
    if (answer.reasoning !== "") {
      head.push(
        added({ type: "reasoning", id: "rs_1", encrypted_content: null, summary: [] }),
        summary("part.added"),
        summary("text.delta", { delta: answer.reasoning }),
        summary("part.done"),
        done(thought(answer.reasoning)),
      );
    }
    const hasText = answer.chunks.length > 0;
    if (hasText) head.push(added({ type: "message", id: "msg_1" }));
    const chunks = answer.chunks.map((delta) =>
      frame("response.output_text.delta", { item_id: "msg_1", output_index: index, delta }),
    );
    const tail = hasText ? [done(message(answer.text))] : [];
    for (const call of answer.toolCalls) {
      tail.push(
        added(functionCall({ ...call, input: "" }, "in_progress")),
        frame("response.function_call_arguments.delta", {
          item_id: `fc_${call.id}`,
          output_index: index,
          delta: call.input,
        }),
        done(functionCall(call)),
      );
    }
    const isComplete = answer.finish === "stop" || answer.finish === "tool-calls";
    tail.push(frame(isComplete ? "response.completed" : "response.incomplete", { response: endOf(answer) }));
    return { head, chunks, tail };
  },
  error: (status, message) => ({ error: { message, type: "error", param: null, code: String(status) } }),
  overloaded: {
    event: "error",
    data: { type: "error", sequence_number: 99, code: "server_error", message: "Overloaded", param: null },
  },
};
