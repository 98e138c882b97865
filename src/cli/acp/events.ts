/** The events of a task that an editor is told of, as the server's stream has them. */

import type { Part } from "../../kernel/kinds/message.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";

export interface Question {
  kind: "input" | "approval";
  step: string;
  prompt: string;
  schema: JsonObject | null;
  permission_request_id: string | null;
}

export interface Span {
  step: string;
  kind: string;
  name: string;
}

type Payloads = {
  "agent.message": { message: { id: string; parts: Part[] } };
  "artifact.created": { artifact: { id: string; name: string; mime_type?: string | null } };
  "span.started": Span;
  "span.updated": {
    message?: string;
    percent?: number;
    /** The text is described instead of told to those who may not see what is internal. */
    delta?: {
      step: string;
      index: number;
      type: "text" | "reasoning";
      visibility: "public" | "internal";
      text: string | object;
    };
  };
  "span.completed": Span & { result: { output?: JsonValue } };
  "span.failed": Span & { result: { error?: { message: string } } };
  "task.input_required": { request: Question };
  "task.auth_required": { request: Question };
  "user.input_submitted": { step: string };
  "user.tool_confirmation": { step: string; approved: boolean };
  "task.completed": { outcome: { summary: string } };
  "task.failed": { failure: { code: string; message: string } };
  "task.canceled": { reason: string | null };
};

interface Common {
  id: string;
  task_id: string;
  resource: { id: string };
  replayed?: boolean;
}

/** Others than these are passed over. */
export type TaskEvent = {
  [Name in keyof Payloads]: Common & { event: Name; payload: Payloads[Name] };
}[keyof Payloads];

const ends: ReadonlySet<string> = new Set(["task.completed", "task.failed", "task.canceled"]);

export function isEnd({ event, task_id, resource }: TaskEvent): boolean {
  return ends.has(event) && resource.id === task_id;
}
