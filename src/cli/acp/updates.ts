/** From what happens in a task to what an editor shows of it. The same events give the same updates. */

import type { SessionUpdate, ToolCallUpdate, ToolKind } from "@agentclientprotocol/sdk";
import { isRecord } from "../../sdk/client/errors.ts";
import type { BridleEvent, EventPayloads, Message } from "../../sdk/client/index.ts";
import { artifactLink, blocksOf } from "./content.ts";

/** Steps that do something, and what an editor calls that. What only thinks, waits or remembers is not shown. */
const toolKinds: Readonly<Record<string, ToolKind>> = {
  step: "other",
  tool: "execute",
  effect: "execute",
  mcp: "execute",
  host: "execute",
  spawn: "other",
  handoff: "other",
  file: "edit",
  file_read: "read",
  file_list: "search",
};
/** More of what a step gave is not for a list of steps. */
const outputCharsMax = 10_000;

export class Updates {
  readonly #url: string;
  readonly #begun = new Set<string>();
  /** What a model has said to the person so far, in its present answer. */
  #streamed = { step: "", text: "" };

  constructor(url: string) {
    this.#url = url;
  }

  of(taskId: string, event: BridleEvent): SessionUpdate[] {
    switch (event.event) {
      case "agent.message": {
        const { id, parts } = event.payload.message;
        if (this.#wasStreamed(textIn(parts))) return [];
        return blocksOf(parts, this.#url).map((content) => ({
          sessionUpdate: "agent_message_chunk",
          content,
          messageId: id,
        }));
      }
      case "artifact.created":
        return [
          { sessionUpdate: "agent_message_chunk", content: artifactLink(this.#url, event.payload.artifact) },
        ];
      case "span.updated":
        return this.#update(event.payload);
      case "span.started":
        return this.#begin(taskId, event.payload);
      case "span.completed":
      case "span.failed":
        return this.#end(taskId, event.payload);
      default:
        return [];
    }
  }

  /** What a model says to the person is shown as it comes; what it says to the agent only is a thought. */
  #update({ message, percent, delta }: EventPayloads["span.updated"]): SessionUpdate[] {
    const text = typeof delta?.text === "string" ? delta.text : null;
    if (delta !== undefined && text !== null && delta.type === "text" && delta.visibility === "public") {
      const isNew = delta.step !== this.#streamed.step || delta.index === 0;
      this.#streamed = { step: delta.step, text: (isNew ? "" : this.#streamed.text) + text };
      return [{ sessionUpdate: "agent_message_chunk", content: { type: "text", text } }];
    }
    const progress =
      message === undefined ? [] : [percent === undefined ? message : `${message} (${percent} %)`];
    return [...progress, ...(text === null ? [] : [text])].map((each) => ({
      sessionUpdate: "agent_thought_chunk",
      content: { type: "text", text: each },
    }));
  }

  /** Nothing is said twice. */
  #wasStreamed(text: string): boolean {
    const isSame = text !== "" && text === this.#streamed.text;
    this.#streamed = { step: "", text: "" };
    return isSame;
  }

  #begin(taskId: string, { step, kind, name }: Span): SessionUpdate[] {
    const toolKind = isListing(step) ? undefined : toolKinds[kind];
    if (toolKind === undefined || this.#begun.has(step)) return [];
    this.#begun.add(step);
    const toolCallId = toolCallIdOf(taskId, step);
    return [{ sessionUpdate: "tool_call", toolCallId, title: name, kind: toolKind, status: "in_progress" }];
  }

  /** Many steps are recorded when they are over, and not before. */
  #end(taskId: string, span: EventPayloads["span.completed"]): SessionUpdate[] {
    if (toolKinds[span.kind] === undefined || isListing(span.step)) return [];
    const begun = this.#begin(taskId, span);
    const toolCallId = toolCallIdOf(taskId, span.step);
    return [...begun, { sessionUpdate: "tool_call_update", toolCallId, ...endingOf(span.result) }];
  }
}

export function toolCallIdOf(taskId: string, step: string): string {
  return `${taskId}:${step}`;
}

type Span = Pick<EventPayloads["span.started"], "step" | "kind" | "name">;

/** Looking what tools a server has is nothing that is done for the person. */
function isListing(step: string): boolean {
  return /^mcp:[^:]+:tools\/list:/.test(step);
}

function textIn(parts: Message["parts"]): string {
  return parts.map((part) => ("text" in part ? part.text : "")).join("");
}

function endingOf(result: EventPayloads["span.completed"]["result"]): Omit<ToolCallUpdate, "toolCallId"> {
  if ("error" in result) {
    const content = { type: "text" as const, text: result.error.message };
    return { status: "failed", content: [{ type: "content", content }] };
  }
  const { output } = result;
  const isShown = output != null && !(isRecord(output) && output.redacted === true);
  const isShort = JSON.stringify(output ?? null).length <= outputCharsMax;
  return { status: "completed", ...(isShown && isShort ? { rawOutput: output } : {}) };
}
