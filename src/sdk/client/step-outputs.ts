/** What each step of a run came to, by its key: for showing two runs beside each other, and for replays with other values. */

import type { Artifact, BridleEvent, EventPayloads, Message, ReplayTaskRequest } from "./types.ts";

export type StepOutput =
  /** What code, a model, a tool or a person gave, as JSON. */
  | { type: "value"; value: unknown }
  | { type: "error"; error: { code: string; message: string } }
  | { type: "message"; message: Message }
  | { type: "artifact"; artifact: Artifact }
  | { type: "decision"; approved: boolean; reason: string | null };

/** Folded event by event. The outcome of the task has no step of its own and is under `result`. */
export class StepOutputs {
  readonly #outputs = new Map<string, StepOutput>();
  readonly #said = new Map<string, Message>();

  add(event: BridleEvent): void {
    if (event.event === "user.message") this.#said.set(event.payload.message.id, event.payload.message);
    const found = this.#outputOf(event);
    if (found !== null) this.#outputs.set(found.step ?? "result", found.output);
  }

  /** In the order in which the steps ended first. */
  get all(): ReadonlyMap<string, StepOutput> {
    return this.#outputs;
  }

  #outputOf(event: BridleEvent): { step: string | undefined; output: StepOutput } | null {
    switch (event.event) {
      case "span.completed":
      case "span.failed": {
        const { step, result } = event.payload;
        if ("error" in result) return { step, output: { type: "error", error: result.error } };
        return { step, output: { type: "value", value: result.output } };
      }
      case "agent.message": {
        const { step, message } = event.payload;
        return { step, output: { type: "message", message } };
      }
      case "artifact.created": {
        const { step, artifact } = event.payload;
        return { step, output: { type: "artifact", artifact } };
      }
      case "user.tool_confirmation": {
        const { step, approved, reason } = event.payload;
        return { step, output: { type: "decision", approved, reason } };
      }
      case "user.input_submitted":
        return { step: event.payload.step, output: this.#answerIn(event.payload) };
      default:
        return null;
    }
  }

  /** The message that was the answer or, in a replay, what was put in its place. */
  #answerIn({ message_id, answer }: EventPayloads["user.input_submitted"]): StepOutput {
    if (answer !== undefined) return { type: "value", value: answer };
    const [part] = this.#said.get(message_id)?.parts ?? [];
    if (part === undefined) return { type: "value", value: message_id };
    if ("text" in part) return { type: "value", value: part.text };
    return { type: "value", value: "value" in part ? part.value : part };
  }
}

export type OverrideKind = NonNullable<ReplayTaskRequest["override"]>[string]["kind"];

const kindOf: Readonly<Record<string, OverrideKind>> = {
  llm: "llm_provider_response",
  mcp: "mcp_tool_return",
  secret: "secret_value",
  time: "time",
  host: "host_fact",
  random: "host_fact",
  step: "tool_result",
  tool: "tool_result",
  effect: "tool_result",
  file: "tool_result",
  handoff: "tool_result",
  file_read: "host_fact",
  file_list: "host_fact",
  memory: "host_fact",
  conversation: "host_fact",
  checkpoint: "checkpoint_value",
  ask: "event_payload",
  approve: "event_payload",
  signal: "event_payload",
  spawn: "event_payload",
};

/** What a value for this step has to be called in a replay; null for steps that take none. */
export function overrideKindOf(key: string): OverrideKind | null {
  const kind = key.split(":", 1)[0] ?? "";
  return Object.hasOwn(kindOf, kind) ? (kindOf[kind] ?? null) : null;
}
