/**
 * Events of a task as chunks of the AI SDK's UI message stream (https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol), version 1. It reads events as
 * callers of the API see them, so it shows nothing that they may not read. The same events make the same chunks.
 */

import type { Wire } from "../present.ts";

export interface UiChunk {
  type: string;
  [member: string]: unknown;
}

/** An event as `presentEvent` makes it. */
export interface ShownEvent {
  event: string;
  payload: Wire;
}

interface ToolEvent {
  tool_call_id?: string;
  step?: string;
  name?: string;
  input?: unknown;
  output?: unknown;
  error?: { message?: string };
  is_error?: boolean;
}

export class UiChunks {
  /** Texts of models that are shown while they are written, by step and attempt. */
  readonly #open = new Map<string, string>();
  readonly #shown = new Set<string>();
  #texts = 0;

  of({ event, payload }: ShownEvent): UiChunk[] {
    switch (event) {
      case "span.updated":
        return [...this.#delta(payload), ...progressOf(payload)];
      case "agent.message":
        return this.#message(Object(payload.message));
      case "agent.tool_use":
      case "agent.mcp_tool_use":
        return [...this.#endTexts(), ...toolInput(payload)];
      case "agent.tool_result":
        return toolOutput(payload);
      case "tool.approval_required":
        return [...this.#endTexts(), ...approvalRequest(Object(payload.permission_request))];
      case "user.tool_confirmation":
        return approvalResponse(payload);
      case "task.input_required":
        return this.#question(Object(payload.request));
      default:
        return [];
    }
  }

  /** Texts that are still open, when the stream ends. */
  end(): UiChunk[] {
    return this.#endTexts();
  }

  #delta({ delta }: Wire): UiChunk[] {
    const { step, attempt, type, text } = Object(delta);
    // Text that the caller may not read is an object that says so.
    if (typeof text !== "string" || (type !== "text" && type !== "reasoning")) return [];
    const id = `${step}.${attempt}.${type}`;
    const before = this.#open.get(id);
    this.#open.set(id, (before ?? "") + text);
    const chunk = { type: `${type}-delta`, id, delta: text };
    return before === undefined ? [{ type: `${type}-start`, id }, chunk] : [chunk];
  }

  /** A message that repeats what was shown while a model wrote it is not shown twice. */
  #message({ parts }: { parts?: unknown }): UiChunk[] {
    const chunks = this.#endTexts();
    for (const part of Array.isArray(parts) ? parts : []) {
      const { type, text, value, artifact_id, uri, mime_type } = Object(part);
      if (type === "text" && typeof text === "string" && !this.#shown.delete(text))
        chunks.push(...this.#text(text));
      if (type === "json") chunks.push({ type: "data-json", data: value });
      if (type === "artifact_ref" || type === "image_ref")
        chunks.push({ type: "data-artifact", id: String(artifact_id), data: { artifact_id, mime_type } });
      if (type === "file_ref" && typeof uri === "string")
        chunks.push({ type: "file", url: uri, mediaType: String(mime_type ?? "application/octet-stream") });
    }
    return chunks;
  }

  #question(request: {
    kind?: unknown;
    prompt?: unknown;
    schema?: unknown;
    expires_at?: unknown;
  }): UiChunk[] {
    if (request.kind !== "input" || typeof request.prompt !== "string") return [];
    const { prompt, schema = null, expires_at } = request;
    return [
      ...this.#endTexts(),
      ...this.#text(prompt),
      { type: "data-question", data: { prompt, schema, expires_at } },
    ];
  }

  #text(text: string): UiChunk[] {
    this.#texts += 1;
    const id = `text.${this.#texts}`;
    return [
      { type: "text-start", id },
      { type: "text-delta", id, delta: text },
      { type: "text-end", id },
    ];
  }

  #endTexts(): UiChunk[] {
    const ended = [...this.#open].map(([id, text]) => {
      const type = id.endsWith(".text") ? "text" : "reasoning";
      if (type === "text") this.#shown.add(text);
      return { type: `${type}-end`, id };
    });
    this.#open.clear();
    return ended;
  }
}

function progressOf({ message, percent }: Wire): UiChunk[] {
  if (typeof message !== "string") return [];
  return [{ type: "data-progress", data: { message, percent: percent ?? null }, transient: true }];
}

function toolInput(payload: ToolEvent): UiChunk[] {
  const { tool_call_id: toolCallId = payload.step, name: toolName, input = null } = payload;
  return [
    { type: "tool-input-available", toolCallId, toolName, input, dynamic: true, providerExecuted: true },
  ];
}

function toolOutput(payload: ToolEvent): UiChunk[] {
  const { tool_call_id: toolCallId = payload.step, error, output = null } = payload;
  const more = { toolCallId, dynamic: true, providerExecuted: true };
  if (error === undefined || error === null) return [{ type: "tool-output-available", ...more, output }];
  return [{ type: "tool-output-error", ...more, errorText: String(error.message ?? "The tool failed.") }];
}

/** An approval is a tool that waits for `addToolApprovalResponse`. Its step names it, as the answer does. */
function approvalRequest(request: { id?: unknown; step?: unknown; request?: unknown }): UiChunk[] {
  const { action, payload = null, risk, artifact_hash } = Object(request.request);
  const approvalId = String(request.id);
  const input = { action, payload, risk, artifact_hash };
  return [
    { type: "tool-input-available", toolCallId: approvalId, toolName: "approval", input, dynamic: true },
    { type: "tool-approval-request", approvalId, toolCallId: approvalId },
  ];
}

function approvalResponse({ request_id, approved, reason }: Wire): UiChunk[] {
  const approvalId = String(request_id);
  const answer = { approvalId, approved: approved === true, ...(typeof reason === "string" && { reason }) };
  const response = { type: "tool-approval-response", ...answer };
  const end =
    approved === true
      ? { type: "tool-output-available", toolCallId: approvalId, output: { approved: true }, dynamic: true }
      : { type: "tool-output-denied", toolCallId: approvalId };
  return [response, end];
}
