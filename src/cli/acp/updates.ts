/** From what happens in a task to what an editor shows of it. The same events give the same updates. */

import type { SessionUpdate, ToolCallUpdate, ToolKind } from "@agentclientprotocol/sdk";
import type { Part } from "../../kernel/kinds/message.ts";
import type { JsonValue } from "../../store/port.ts";
import { artifactLink, blocksOf } from "./content.ts";
import type { Span, TaskEvent } from "./events.ts";

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

  of(event: TaskEvent): SessionUpdate[] {
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
        return this.#begin(event.task_id, event.payload);
      case "span.completed": {
        const { result, ...span } = event.payload;
        return this.#end(event.task_id, span, { status: "completed", ...outputOf(result.output) });
      }
      case "span.failed": {
        const { result, ...span } = event.payload;
        const text = result.error?.message ?? "It failed.";
        const content = [{ type: "content" as const, content: { type: "text" as const, text } }];
        return this.#end(event.task_id, span, { status: "failed", content });
      }
      default:
        return [];
    }
  }

  /** What a model says to the person is shown as it comes; what it says to the agent only is a thought. */
  #update({ message, percent, delta }: Update): SessionUpdate[] {
    const { type, text, visibility, step, index } = delta ?? {};
    if (typeof text === "string" && type === "text" && visibility === "public") {
      const isNew = step !== this.#streamed.step || index === 0;
      this.#streamed = { step: step ?? "", text: (isNew ? "" : this.#streamed.text) + text };
      return [{ sessionUpdate: "agent_message_chunk", content: { type: "text", text } }];
    }
    const progress =
      message === undefined ? [] : [percent === undefined ? message : `${message} (${percent} %)`];
    const texts = [...progress, ...(typeof text === "string" ? [text] : [])];
    return texts.map((each) => ({
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
  #end(taskId: string, span: Span, ending: Omit<ToolCallUpdate, "toolCallId">): SessionUpdate[] {
    if (toolKinds[span.kind] === undefined || isListing(span.step)) return [];
    const begun = this.#begin(taskId, span);
    const toolCallId = toolCallIdOf(taskId, span.step);
    return [...begun, { sessionUpdate: "tool_call_update", toolCallId, ...ending }];
  }
}

export function toolCallIdOf(taskId: string, step: string): string {
  return `${taskId}:${step}`;
}

type Update = Extract<TaskEvent, { event: "span.updated" }>["payload"];

/** Looking what tools a server has is nothing that is done for the person. */
function isListing(step: string): boolean {
  return /^mcp:[^:]+:tools\/list:/.test(step);
}

function textIn(parts: readonly Part[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function outputOf(output: JsonValue | undefined): { rawOutput?: JsonValue } {
  if (output === undefined || output === null || isRedacted(output)) return {};
  return JSON.stringify(output).length > outputCharsMax ? {} : { rawOutput: output };
}

function isRedacted(output: JsonValue): boolean {
  return typeof output === "object" && output !== null && !Array.isArray(output) && output.redacted === true;
}
